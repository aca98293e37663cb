package mail

import (
	"strings"
	"testing"

	"mvdan.cc/xurls/v2"
)

// names are names of people, which mails show.
var names = []string{
	"Ada Lovelace", "O'Brien-Smith", "Siobhán O’Brien", "Sammy Davis, Jr.", "Martin Luther King Jr.", "Dr. Müller", "Prof. Dr. h. c. Ada Müller",
	"J.R.R. Tolkien", "J. R. R. Tolkien", "George R.R. Martin", "A.A. Milne", "Ph.D. Grace Hopper", "Grace Hopper, Ph.D.", "Mr. T", "Anna M.", "Anna www Müller",
	"李小龍", "毛 泽东", "买买提·艾力", "山田 太郎", "ナルト・うずまき", "김철수", "محمد بن سلمان", "علی\u200cرضا", "דָּוִד בֶּן־גּוּרִיּוֹן", "श्रीमान", "Владимир Ильич", "Νίκος Καζαντζάκης",
	"Björk Guðmundsdóttir", "Nguyễn Thị Minh Khai", "Zoë Zoe\u0308", "Łukasz", "İbrahim", "Gal·la Plàcida", "X Æ A-12", "R2D2", "Ludwig XIV.", "John Smith 3rd", "Ada 2",
	"Elisabeth II.", "Henry Ⅷ", "Ada (1815)", "Anna & Bob", "Team 7", "Jean-Luc", "Anna-Lena Müller-Lüdenscheidt", "d'Artagnan", "van der Berg", "e.V. Vorstand",
	"Ada +1", "Dr. Ada: Countess", "Conan \"the Librarian\" O'Brien", "👩‍👩‍👧 Family", "Ada ❤ Go", "Ada...", "Ada… Lovelace", "Hello, World", "Mr. & Mrs. Smith", "#1 Fan", "X", "7",
}

// baits are names that some mail program turns into a link.
var baits = []string{
	"Win 1000 EUR at evil.example.com", "bit.example/3xyz", "x@evil.example", "paypa1.example/pay or call +49 30 1234567",
	"Win at https://evil.example/x", "WWW.Evil.example", "Ada, www.evil.example", "ftp://x", "evil.example", "EVIL.EXAMPLE", "t.co", "x.com", "evil.xn--p1ai", "президент.рф",
	"例え.テスト", "evil。example", "evil．example", "evil｡example", "evil․example", "evil\u200b.example", "evil.\u00adexample", "e\u2060vil.example", "☕.example", "(evil.example)",
	"evil.example!", "see evil.example, Ada", "Ada.Lovelace", "St.Gallen", "127.0.0.1", "http:evil", "mailto:x", "tel:110", "javascript:alert(1)", "localhost:8080", "sms：110", "::1", "：：1", ":\u200b:1",
	"evil⁄x", "evil∕x", "evil／x", "evil⧸x", "evil╱x", `\\evil\share`, "evil＼x", "a/b", "x＠evil", "x﹫evil", "@ada",
	"call 0900123456", "0900 12 34 56", "+49 30", "＋49 30", "030-12345", "(030) 12345", "٠٩٠٠١٢٣", "０９００１２３", "call 110 110", "1 2 3 4 5",
}

func TestLinkable(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		if linkable(name) {
			t.Errorf("%q is not shown", name)
		}
	}
	for _, bait := range baits {
		if !linkable(bait) {
			t.Errorf("%q is shown", bait)
		}
	}
}

// FuzzLinkable compares linkable with a library that finds links, also with the
// links between blanks and letters.
func FuzzLinkable(f *testing.F) {
	finder := xurls.Relaxed()
	for _, all := range [][]string{names, baits} {
		for _, text := range all {
			f.Add(text, "Ada", "Lovelace")
			f.Add("Ada", text, "")
		}
	}
	f.Fuzz(func(t *testing.T, text, before, after string) {
		shown := oneLine(text)
		if found := finder.FindString(shown); found != "" && !linkable(shown) {
			t.Errorf("%q is shown, and %q is a link", shown, found)
		}
		if linkable(text) && !linkable(before+" "+text+" "+after) {
			t.Errorf("%q is shown between %q and %q", text, before, after)
		}
		for _, dot := range []string{".", "。", "．", "｡"} {
			if bait := strings.ReplaceAll("evil.example", ".", dot); !linkable(before + " " + bait + " " + after) {
				t.Errorf("%q is shown between %q and %q", bait, before, after)
			}
		}
	})
}
