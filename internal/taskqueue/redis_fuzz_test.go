package taskqueue

import (
	"testing"
	"time"
)

// FuzzParseRedis: a URL that is refused holds a password as often as not, so the
// error is the same for every one; one that is taken does not get its way about
// the times and the tries.
func FuzzParseRedis(f *testing.F) {
	for _, seed := range []string{
		"redis://127.0.0.1:6379/0", "rediss://u:p@redis.example:6380/3?read_timeout=1h&max_retries=9", "unix:///run/redis.sock?db=1&dial_timeout=0",
		"redis://u:hunter2@h/not-a-number", "redis://h/0?pool_timeout=-1s&dialer_retries=100", "http://h", "", "://", "redis://[::1", "redis://\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		r, err := ParseRedis(url, time.Second)
		if err != nil {
			if err.Error() != errURL.Error() {
				t.Errorf("the error may quote the URL: %v", err)
			}
			return
		}
		o := r.options
		if o.DialTimeout != time.Second || o.ReadTimeout != time.Second || o.WriteTimeout != time.Second || o.PoolTimeout != time.Second {
			t.Errorf("%q changes the timeouts: %+v", url, o)
		}
		if !o.ContextTimeoutEnabled || o.MaxRetries != -1 || o.DialerRetries != 1 || o.Addr == "" {
			t.Errorf("%q gives %+v", url, o)
		}
	})
}
