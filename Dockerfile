# One image with both programs. A container runs one of them: /api or /worker.

# The tag follows the patch releases of Go, because their fixes become part of the programs.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY cmd/api cmd/api
COPY cmd/worker cmd/worker
COPY internal internal
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/api ./cmd/worker

# Only the programs, and the certificates by which TLS to Postgres, Redis and mail servers is verified.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/api /out/worker /
# An unprivileged user, by number because there is no /etc/passwd. The programs write no files.
USER 65532:65532
CMD ["/api"]
