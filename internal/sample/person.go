// Package sample makes up customers and their statements from a seed, for demo
// data and for the simulator of test mode. Names, phones and addresses are those
// of no one: domains end in .example, phones are kept for fiction. It does no I/O.
package sample

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Chance is true with that probability.
func Chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Pick is one of the things.
func Pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// Made-up names that are common in Australia, at domains that can't exist.
var (
	firstNames = []string{
		"Olivia", "Noah", "Charlotte", "Jack", "Amelia", "William", "Isla", "Thomas", "Mia", "Lucas", "Grace", "Henry", "Chloe",
		"Ethan", "Ruby",
		"Liam", "Zoë", "Daniel", "Hannah", "Samuel", "Priya", "Arjun", "Linh", "Minh", "Wei", "Jing", "Fatima", "Omar", "Layla",
		"Yusuf", "Sofia",
		"Mateo", "Elena", "Nikolai", "Katarina", "Marco", "Giulia", "Dimitri", "Aroha", "Tane", "Siobhan", "Declan", "Ingrid", "Lars",
		"Renée", "José",
		"Michelle", "Peter", "Karen", "Steven", "Julie", "Gary", "Debra", "Craig", "Tracey", "Wayne",
	}
	lastNames = []string{
		"Smith", "Jones", "Williams", "Brown", "Wilson", "Taylor", "Johnson", "White", "Martin", "Anderson", "Thompson", "Walker",
		"Harris", "Kelly",
		"Nguyen", "Tran", "Pham", "Chen", "Wang", "Li", "Singh", "Patel", "Sharma", "Khan", "Hussain", "Ali", "Haddad", "Rossi",
		"Russo", "Papadopoulos",
		"Georgiou", "Kowalski", "Novak", "Petrov", "Müller", "Schmidt", "O'Brien", "Murphy", "Ryan", "McDonald", "Campbell", "Stewart",
		"Robertson",
		"Fraser", "Te Rangi", "Silva", "García", "Fernández", "Kim", "Park", "Tanaka", "Okafor", "Abebe", "Mensah", "Van Dijk",
		"Lindqvist",
	}
	mailHosts = []string{"mailbox.example", "mailbox.example", "inbox.example", "postbox.example", "bayside.example",
		"fastpost.example"}

	// phones are numbers that the ACMA reserves for fiction, listed one by one:
	// their neighbours belong to people.
	phones = []string{
		"0491 570 006", "0491 570 156", "0491 570 157", "0491 570 158", "0491 570 159", "0491 570 110", "0491 570 313", "0491 570 737",
		"0491 571 266", "0491 571 491", "0491 571 804", "0491 572 549", "0491 572 665", "0491 572 983", "0491 573 770",
	}

	// abroad is one that Ofcom reserves in the United Kingdom.
	abroad = "+44 20 7946 0958"

	trades = []job{
		{"Registered nurse", "Royal Prince Alfred Hospital", 92}, {"Primary school teacher", "Department of Education", 88},
		{"Electrician", "Brightline Electrical", 96}, {"Software engineer", "Tidewater Systems", 138},
		{"Carpenter", "Self-employed", 81},
		{"Accountant", "Marsh & Cole", 104}, {"Chef", "The Boathouse", 68}, {"Truck driver", "Southern Freight", 84},
		{"Aged care worker", "Banksia Homes", 62},
		{"Sales manager", "Northside Toyota", 112}, {"Project manager", "Harcourt Construction", 131},
		{"Retail assistant", "Woolworths", 54},
		{"Police officer", "NSW Police Force", 99}, {"Graphic designer", "Studio Lark", 79},
		{"Physiotherapist", "Move Well Clinics", 94},
		{"Mechanic", "Kev’s Auto", 76}, {"Civil engineer", "Arden Partners", 118}, {"Barista", "Little Collins", 48},
		{"Dentist", "Smile on Pitt", 164},
		{"Warehouse supervisor", "Metcash", 73}, {"Bus driver", "Transit Systems", 71}, {"Pharmacist", "Priceline", 97},
		{"Farmer", "Self-employed", 69},
		{"Solicitor", "Hale Whitford", 126}, {"Hairdresser", "Self-employed", 52}, {"Mining technician", "Pilbara Resources", 152},
		{"", "", 0},
	}
	places = []place{
		{"Marrickville", "NSW", "2204", 1.5}, {"Parramatta", "NSW", "2150", 1.1}, {"Newcastle", "NSW", "2300", 0.9},
		{"Wollongong", "NSW", "2500", 0.95},
		{"Brunswick", "VIC", "3056", 1.2}, {"Footscray", "VIC", "3011", 0.95}, {"Geelong", "VIC", "3220", 0.75},
		{"Ballarat", "VIC", "3350", 0.6},
		{"West End", "QLD", "4101", 1.05}, {"Southport", "QLD", "4215", 0.95}, {"Toowoomba", "QLD", "4350", 0.6},
		{"Cairns", "QLD", "4870", 0.6},
		{"Fremantle", "WA", "6160", 1}, {"Joondalup", "WA", "6027", 0.8}, {"Norwood", "SA", "5067", 0.95},
		{"Glenelg", "SA", "5045", 0.9},
		{"Sandy Bay", "TAS", "7005", 0.85}, {"Launceston", "TAS", "7250", 0.6}, {"Dickson", "ACT", "2602", 1.05},
		{"Nightcliff", "NT", "0810", 0.65},
	}
	streets = []string{
		"Wattle Street", "Railway Parade", "Victoria Road", "George Street", "Banksia Avenue", "Church Street", "Bay Road",
		"Hill Crescent", "Station Street",
		"Park Lane", "Ocean Drive", "Boundary Road", "Elizabeth Street", "Kurrajong Place", "Mill Lane",
	}
)

// Safari is the User-Agent of a desktop computer.
const Safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Safari/605.1.15"

// Browsers are User-Agents: two iPhones, two Android phones, two computers.
var Browsers = []string{
	"Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
	"Mozilla/5.0 (Linux; Android 15; SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
	Safari,
}

type job struct {
	title, employer string
	salary          int // thousands a year; 0 for no work
}

type place struct {
	suburb, state, postcode string
	prices                  float64 // of homes, against the country's
}

// A Person is a made-up customer.
type Person struct {
	Name, Email string
	job         job
	place       place
	street      string
	age         int
}

// NewPerson makes up a customer.
func NewPerson(r *rand.Rand) Person {
	first, last := Pick(r, firstNames), Pick(r, lastNames)
	p := Person{Name: first + " " + last, job: Pick(r, trades), place: Pick(r, places), age: 23 + r.IntN(18) + r.IntN(25)}
	p.street = fmt.Sprintf("%d %s", 1+r.IntN(180), Pick(r, streets))
	if Chance(r, 0.3) {
		p.street = fmt.Sprintf("Unit %d, %s", 1+r.IntN(24), p.street)
	}
	box := plainLetters(first) + "." + plainLetters(last)
	switch r.IntN(4) {
	case 0:
		box = plainLetters(first[:1]) + plainLetters(last)
	case 1:
		box += fmt.Sprint(1 + r.IntN(98))
	}
	p.Email = box + "@" + Pick(r, mailHosts)
	return p
}

// plainLetters is a name as it stands in an email address.
func plainLetters(name string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn))), name)
	if err != nil {
		plain = name
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return c
		}
		return -1
	}, strings.ToLower(plain))
}

// Address is one of those kept for documentation (RFC 5737).
func Address(r *rand.Rand) string {
	return Pick(r, []string{"198.51.100.", "203.0.113.", "192.0.2."}) + fmt.Sprint(1+r.IntN(254))
}
