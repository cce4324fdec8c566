package statement

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// guessWords are words of a file's name that say what the document is, in English,
// Vietnamese without its marks, and Chinese.
var guessWords = map[DocumentCategory][]string{
	"identification": {"passport", "driver licence", "drivers licence", "driver license", "drivers license", "licence", "license",
		"medicare", "birth certificate",
		"citizenship", "photo id", "id card", "ho chieu", "bang lai", "giay phep lai xe", "can cuoc", "cccd", "cmnd", "护照", "護照",
		"驾照", "駕照", "驾驶证", "身份证", "身份證"},
	"income_evidence": {"payslip", "payslips", "pay slip", "pay slips", "paystub", "pay advice", "payroll", "salary", "wage",
		"wages", "payment summary", "income statement",
		"group certificate", "centrelink", "phieu luong", "bang luong", "工资", "工資", "薪资", "薪資", "收入证明"},
	"bank_statement": {"bank statement", "bank statements", "bankstatement", "account statement", "transactions", "sao ke ngan hang",
		"银行流水", "银行对账单", "銀行對賬單"},
	"tax_return": {"tax return", "tax returns", "taxreturn", "tax assessment", "notice of assessment", "noa", "to khai thue",
		"khai thue", "thong bao thue",
		"报税", "報稅", "税单", "稅單", "评税", "纳税"},
	"loan_statement": {"loan", "loans", "mortgage", "credit card", "creditcard", "card statement", "mastercard", "amex", "khoan vay",
		"the tin dung",
		"贷款", "貸款", "信用卡", "房贷", "房貸", "按揭"},
}

var (
	humps   = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
	letters = regexp.MustCompile(`\p{L}+`)
)

// GuessCategory says what a document is by the name of its file, "" if no word says it,
// or words say two things. It is only a suggestion (D84).
func GuessCategory(fileName string) DocumentCategory {
	if dot := strings.LastIndexByte(fileName, '.'); dot >= 0 {
		fileName = fileName[:dot]
	}
	bare := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case r == 'đ' || r == 'Đ':
			return 'd'
		}
		return r
	}, norm.NFD.String(fileName))
	name := " " + strings.ToLower(strings.Join(letters.FindAllString(humps.ReplaceAllString(bare, "$1 $2"), -1), " ")) + " "
	says := func(word string) bool {
		if unicode.Is(unicode.Han, []rune(word)[0]) {
			return strings.Contains(name, word)
		}
		return strings.Contains(name, " "+word+" ")
	}
	var guess DocumentCategory
	for category, words := range guessWords {
		switch {
		case !slices.ContainsFunc(words, says):
		case guess != "":
			return ""
		default:
			guess = category
		}
	}
	return guess
}
