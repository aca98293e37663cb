//go:build !crashpoints

package crashpoint

// Here does nothing in this build. With the tag crashpoints, the process may
// die here.
func Here(Point) {}
