// Command rival runs one of the contenders of `make bench`, in a process of its
// own. It is never part of a deployment.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/lastseat/lastseat/bench/rivals"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rival:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o rivals.Options
	flags := flag.NewFlagSet("rival", flag.ContinueOnError)
	name := flags.String("contender", "", "the name of who it is")
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:0", "host:port")
	flags.StringVar(&o.Redis, "redis", "", "the URL of a Redis")
	flags.IntVar(&o.Pool, "pool", 10, "connections to Postgres")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var found bool
	if o.Contender, found = rivals.Find(*name); !found {
		return fmt.Errorf("there is no contender %q", *name)
	}
	o.Postgres = os.Getenv("RIVAL_POSTGRES_URL") // it holds a password, which a list of processes would show
	return rivals.Serve(ctx, o, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}
