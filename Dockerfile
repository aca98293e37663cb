# One image with both programs; a container runs one of them: /api or /worker.

# The tag follows the patch releases of Go: their fixes are part of what is built.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY cmd/api cmd/api
COPY cmd/worker cmd/worker
COPY internal internal
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/api ./cmd/worker

# Nothing but the programs and the certificates that TLS to Postgres, Redis and mail servers is checked against.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/api /out/worker /
# Nobody: a number, since there is no /etc/passwd. The programs write no files.
USER 65532:65532
CMD ["/api"]
