// Command miniredis is a Redis simulated in Go, for `make run` and `make rush` on
// a machine without one. It keeps nothing. It is not for tests or measurements:
// it knows the commands that Lastseat uses, not everything about them.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
)

// passwordVariable is the environment variable with the password of clients. By
// it, a caller knows that no other program answers on the port.
const passwordVariable = "LASTSEAT_MINIREDIS_PASSWORD"

func main() {
	listen := flag.String("listen", "127.0.0.1:6379", "`address` to listen on")
	flag.Parse()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true) // keys expire by the clock, as a Redis' do
	if password := os.Getenv(passwordVariable); password != "" {
		server.RequireAuth(password)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	if err := server.StartAddr(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "miniredis:", err)
		os.Exit(1)
	}
	<-ended
	server.Close()
}
