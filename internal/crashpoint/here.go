//go:build !crashpoints

package crashpoint

// Here is where the process may die. In this build it does not.
func Here(Point) {}
