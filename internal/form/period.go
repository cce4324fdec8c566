package form

// A Period is the time that an amount of money covers, as its code in inputs
// and JSON (D19, D53).
type Period string

// The periods of amounts.
const (
	Once        Period = "" // the amount doesn't recur
	Weekly      Period = "week"
	Fortnightly Period = "fortnight"
	Monthly     Period = "month"
	Quarterly   Period = "quarter"
	Yearly      Period = "year"
)

// unsaid is how Parse reads the period of an amount that was sent without one, on a page
// that asks for it (D77).
const unsaid Period = "?"

// Periods are those in which a recurring amount can be given, shortest first.
var Periods = []Period{Weekly, Fortnightly, Monthly, Quarterly, Yearly}

// Enum lists the codes.
func (Period) Enum() []string {
	var out []string
	for _, p := range Periods {
		out = append(out, string(p))
	}
	return out
}

// Per is the period as it follows an amount, "a month"; "" for Once.
func (p Period) Per() string {
	if p == Once {
		return ""
	}
	return "a " + string(p)
}

// Adverb is the period as a choice, "monthly"; "" for Once.
func (p Period) Adverb() string {
	if p == Once {
		return ""
	}
	return string(p) + "ly"
}

// said is the period itself, and Once if it was left unsaid.
func (p Period) said() Period {
	if p == unsaid {
		return Once
	}
	return p
}

// timesAYear is how often the period occurs in a year; 0 for Once and unknown
// codes.
func (p Period) timesAYear() int64 {
	switch p {
	case Weekly:
		return 52
	case Fortnightly:
		return 26
	case Monthly:
		return 12
	case Quarterly:
		return 4
	case Yearly:
		return 1
	}
	return 0
}

// periodWords are the endings that people type after an amount, without the
// points and slashes of "p.w." and "p/w".
var periodWords = map[string]Period{
	"week": Weekly, "weekly": Weekly, "wk": Weekly, "pw": Weekly,
	"fortnight": Fortnightly, "fortnightly": Fortnightly, "pf": Fortnightly, "pfn": Fortnightly,
	"month": Monthly, "monthly": Monthly, "mth": Monthly, "pm": Monthly, "pcm": Monthly,
	"quarter": Quarterly, "quarterly": Quarterly, "qtr": Quarterly, "pq": Quarterly,
	"year": Yearly, "yearly": Yearly, "yr": Yearly, "annum": Yearly, "annually": Yearly, "pa": Yearly,
}
