// Command worker stands in for the real one.
package main

import "example.org/fake/fake"

func main() { fake.Main("LASTSEAT_WORKER_ADMIN_LISTEN") }
