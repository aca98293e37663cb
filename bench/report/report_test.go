package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{7}, 7}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{1, 1, 100}, 1},
	} {
		before := slices.Clone(c.xs)
		if got := median(c.xs); got != c.want || !slices.Equal(before, c.xs) {
			t.Errorf("median(%v) = %v, want %v; and it must not sort what it is given", before, got, c.want)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
	got := Median([]Sample{{Accepted: 1, CPU: 5}, {Accepted: 3}, {Accepted: 2, CPU: 7}})
	if got[Accepted] != 2 || got[CPU] != 6 || len(got) != 2 {
		t.Errorf("got %v, want each number over the samples that have it", got)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i)*time.Millisecond)
	}
	for _, c := range []struct {
		took  []time.Duration
		share float64
		want  float64
	}{
		{hundred, 0.50, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{hundred[:1], 0.50, 100}, {hundred[:2], 0.50, 99}, {hundred[:2], 0.99, 100}, {nil, 0.5, 0},
	} {
		if got := Percentile(c.took, c.share); got != c.want {
			t.Errorf("%g of %d: got %g ms, want %g", c.share, len(c.took), got, c.want)
		}
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("it has sorted what it was given")
	}
}

func TestPerSecond(t *testing.T) {
	t.Parallel()
	if got := PerSecond(10, 4*time.Second); got != 2.5 {
		t.Errorf("got %g", got)
	}
	if got := PerSecond(10, 0); got != 0 {
		t.Errorf("got %g of no time", got)
	}
}

// example is a case with everything that can be compared.
func example() *Case {
	perSecond := func(xs ...float64) (all []Sample) {
		for _, x := range xs {
			all = append(all, Sample{Accepted: x, AnsweredP50: 5, AnsweredP99: 9, Oversold: 0})
		}
		return all
	}
	return &Case{
		ID: "one", What: "people ask",
		Lastseat: Entrant{Samples: []Sample{
			{Accepted: 8000, Decided: 6000, DecidedP50: 12, DecidedP99: 90, Plain: 10_000},
			{Accepted: 9000, Decided: 5000, DecidedP50: 14, DecidedP99: 80, Plain: 10_000},
			{Accepted: 7000, Decided: 7000, DecidedP50: 10, DecidedP99: 70, Plain: 10_000},
		}},
		Ceiling: &Entrant{Name: "ceiling", Lacks: "everything", Samples: perSecond(20_000, 30_000, 10_000)},
		Rivals: []*Entrant{
			{Name: "as_asked", Oversells: true, Samples: perSecond(9999)},
			{Name: "unlucky", Samples: []Sample{{Accepted: 9000, Oversold: 1}}}, // a solution that fails is none
			{Name: "slow", Pool: 2, Samples: perSecond(100)},
			{Name: "fast", Pool: 20, Lacks: "order", Samples: perSecond(1000, 3000, 2000)},
			{Name: "fast_recording", Pool: 10, Recording: true, Samples: perSecond(1000, 1500)},
			{Name: "queue", Pool: 2, Recording: true, Samples: []Sample{{Accepted: 9000, Decided: 300, DecidedP50: 700, DecidedP99: 1500}}},
			{Name: "absent"},
		},
	}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	c := example()
	for ratio, want := range map[Ratio]float64{
		ToBestRival:          3,    // 6000 decided, which is slower than accepted, by 2000
		ToBestRecordingRival: 4.8,  // by 1250
		ToCeiling:            0.3,  // by 20 000
		ToPlain:              0.80, // 8000 accepted by 10 000
	} {
		if got := ratios[ratio](c); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %g, want %g", ratio, got, want)
		}
	}
	if best := c.best(false); best.Name != "fast" {
		t.Errorf("the best is %s", best.Name)
	}
	nothing := &Case{}
	for ratio, of := range ratios {
		if got := of(nothing); !math.IsNaN(got) {
			t.Errorf("%s of nothing is %g", ratio, got)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	c := example()
	for want, target := range map[string]Target{
		"ratio_to_best_rival at least 3: met (3.00)":           AtLeast(3, ToBestRival),
		"ratio_to_best_rival at least 3.1: MISSED (3.00)":      AtLeast(3.1, ToBestRival),
		"decided_p50_ms at most 12: met (12.0)":                AtMost(12, DecidedP50),
		"decided_p99_ms at most 50: MISSED (80.0)":             AtMost(50, DecidedP99),
		"api_cpu_percent at most 1: not measured":              AtMost(1, APIShare),
		"ratio_to_plain at least 0.85: MISSED (0.80)":          AtLeast(0.85, ToPlain),
		"ratio_to_ceiling at least 0.3: met (0.30)":            AtLeast(0.3, ToCeiling),
		"ratio_to_best_recording_rival at least 4: met (4.80)": AtLeast(4, ToBestRecordingRival),
	} {
		if got := target.verdict(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWriteJSON compares the object with the one that was agreed upon: these names
// are for programs.
func TestWriteJSON(t *testing.T) {
	t.Parallel()
	lone := &Case{ID: "lone", Lastseat: Entrant{Samples: []Sample{{DecidedP50: 7}}}}
	var b strings.Builder
	if err := (&Report{Cases: []*Case{example(), lone}}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 || !strings.HasSuffix(b.String(), "}\n") {
		t.Errorf("it is not one line: %q", b.String())
	}
	var got struct {
		Ceiling *float64 `json:"ceiling_per_second"`
		Cases   []struct {
			ID             string              `json:"id"`
			Lastseat       map[string]*float64 `json:"lastseat"`
			Rivals         map[string]map[string]any
			BestRival      *float64 `json:"ratio_to_best_rival"`
			BestRecording  *float64 `json:"ratio_to_best_recording_rival"`
			RatioToCeiling *float64 `json:"ratio_to_ceiling"`
			RatioToPlain   *float64 `json:"ratio_to_plain"`
		} `json:"cases"`
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Cases) != 2 {
		t.Fatalf("got %+v", got)
	}
	one := got.Cases[0]
	if one.ID != "one" || *one.BestRival != 3 || *one.BestRecording != 4.8 || *one.RatioToCeiling != 0.3 || *one.RatioToPlain != 0.8 {
		t.Errorf("got %+v", one)
	}
	for name, want := range map[string]float64{"accepted_per_second": 8000, "decided_per_second": 6000, "decided_p50_ms": 12, "decided_p99_ms": 80} {
		if x := one.Lastseat[name]; x == nil || *x != want {
			t.Errorf("%s is %v, want %g", name, x, want)
		}
	}
	for name, want := range map[string]map[string]any{
		"fast":   {"per_second": 2000.0, "p50_ms": 5.0, "p99_ms": 9.0, "oversold": 0.0, "pool": 20.0},
		"queue":  {"per_second": 300.0, "p50_ms": 700.0, "p99_ms": 1500.0, "oversold": 0.0, "pool": 2.0},
		"absent": {"per_second": nil, "p50_ms": nil, "p99_ms": nil, "oversold": 0.0, "pool": 0.0},
	} {
		for key, x := range want {
			if has, is := one.Rivals[name][key]; !is || has != x {
				t.Errorf("%s has %s %v, want %v", name, key, has, x)
			}
		}
	}
	// What was not measured is null, and there.
	for _, name := range []string{"accepted_per_second", "decided_per_second", "decided_p99_ms", "cpu_ms_per_request"} {
		if x, is := got.Cases[1].Lastseat[name]; !is || x != nil {
			t.Errorf("%s, which was not measured, is %v, %t", name, x, is)
		}
	}
	if c := got.Cases[1]; *c.Lastseat["decided_p50_ms"] != 7 || c.BestRival != nil || c.RatioToCeiling != nil {
		t.Errorf("got %+v", c)
	}
	// The only ceiling is one with polls, which is not everybody's.
	if got.Ceiling != nil {
		t.Errorf("the ceiling is %v", *got.Ceiling)
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	one, two := example(), example()
	for _, c := range []*Case{one, two} {
		for _, s := range c.Lastseat.Samples {
			delete(s, Plain)
		}
	}
	two.Ceiling.Samples = []Sample{{Accepted: 50_000}, {Accepted: 25_000}}
	if got := (&Report{Cases: []*Case{one, two, {}}}).ceiling(); got != 25_000 {
		t.Errorf("got %g, want the median of all", got)
	}
}

func TestWriteTables(t *testing.T) {
	t.Parallel()
	c := example()
	c.Targets = []Target{AtLeast(4, ToBestRival)}
	var b strings.Builder
	if err := (&Report{Cases: []*Case{c}}).WriteTables(&b); err != nil {
		t.Fatal(err)
	}
	var widths []int
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "|") {
			widths = append(widths, utf8.RuneCountInString(line))
		} else {
			if len(slices.Compact(widths)) > 1 {
				t.Errorf("the columns do not stand below each other:\n%s", b.String())
			}
			widths = nil
		}
	}
	for _, want := range []string{"one: people ask", "| fast ", "| order ", " 3.00 |", "| Lastseat ", "MISSED", "| ceiling"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in it:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "absent") {
		t.Errorf("it shows who was not measured:\n%s", b.String())
	}
	b.Reset()
	if err := (&Report{Cases: []*Case{c}, Smoke: true}).WriteTables(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "target") || !strings.Contains(b.String(), "mean nothing") {
		t.Errorf("a smoke run is judged:\n%s", b.String())
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]float64{"0": 0, "–": math.NaN(), "0.12": 0.123, "1.00": 1, "12.3": 12.34, "123": 123.4, "12345": 12345} {
		if got := number(x); got != want {
			t.Errorf("number(%g) = %q, want %q", x, got, want)
		}
	}
}
