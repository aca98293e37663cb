package config

import "time"

// Default returns the default of every setting. The defaults fit one machine.
// Postgres.URL has none.
func Default() Config {
	return Config{
		Log: Log{
			Level:  "info",
			Format: "json",
		},
		Postgres: Postgres{
			PreparedStatements:       true,
			MaxConns:                 10,
			ConnectTimeout:           2 * time.Second,
			StatementTimeout:         5 * time.Second,
			LockTimeout:              time.Second,
			IdleInTransactionTimeout: 2 * time.Second,
		},
		Redis: Redis{
			URL:     "redis://127.0.0.1:6379/0",
			Timeout: time.Second,
		},
		API: API{
			Listen:            "127.0.0.1:8080",
			AdminListen:       "127.0.0.1:8081",
			PublicURL:         "http://127.0.0.1:8080",
			MaxBodyBytes:      16384,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxConnections:    20_000,
			MaxPolls:          10,
			ShutdownDelay:     5 * time.Second,
			ShutdownTimeout:   20 * time.Second,
			MaxWait:           25 * time.Second,
		},
		Intake: Intake{
			Committers:    2,
			Waiting:       8192,
			Batch:         500,
			CommitTimeout: 3 * time.Second,
		},
		Worker: Worker{
			AdminListen:      "127.0.0.1:8082",
			MaxLanes:         2000,
			LaneIdle:         time.Second,
			PollBudget:       4000,
			SweepInterval:    time.Second,
			SweepAllInterval: 10 * time.Second,
			ShutdownTimeout:  20 * time.Second,
		},
		Settle: Settle{
			Committers: 2,
			Budget:     512,
			LateAfter:  30 * time.Second,
		},
		Mail: Mail{
			Server:         "127.0.0.1:1025",
			TLS:            "none",
			From:           "Lastseat <lastseat@localhost>",
			ConnectTimeout: 10 * time.Second,
			SendTimeout:    30 * time.Second,
			IdleTimeout:    30 * time.Second,
			Concurrency:    4,
			PerSecond:      50,
			RetryMin:       5 * time.Second,
			RetryMax:       10 * time.Minute,
			GiveUpAfter:    72 * time.Hour,
			RemindBefore:   24 * time.Hour,
			ChangeWindow:   10 * time.Minute,
			Pace:           10 * time.Minute,
		},
	}
}
