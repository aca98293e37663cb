// Command api stands in for the real one.
package main

import "example.org/fake/fake"

func main() { fake.Main("LASTSEAT_API_ADMIN_LISTEN", "LASTSEAT_API_LISTEN") }
