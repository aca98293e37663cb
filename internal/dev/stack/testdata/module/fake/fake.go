// Package fake is all that cmd/dev asks of api and worker: listen where the environment says, answer /readyz, stop on
// SIGTERM. /die makes it end by itself.
package fake

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a fake that listens on the addresses in the environment variables.
func Main(listen ...string) {
	if len(os.Args) > 1 && os.Args[1] == "migrate" {
		fmt.Println("migrating", os.Getenv("LASTSEAT_POSTGRES_URL") != "")
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	for _, name := range listen {
		l, err := net.Listen("tcp", os.Getenv(name))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		go http.Serve(l, mux)
	}
	<-ctx.Done()
	fmt.Println("stopped")
}
