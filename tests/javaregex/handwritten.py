r"""Cases by hand, where engines are known to differ: (patterns, values, replacement) by topic.

Every pattern of a row is tried on every value of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_ASCII = "".join(map(chr, range(1, 128)))
MORE = "\u01c5\u03b1\u0410\u05d0\u0660\u2028\u200d\u3042\u4e00\ufdd0\uffff\u20ac"
LETTERS = "".join(map(chr, range(1, 0x180))) + MORE
# fmt: off
ENDS = [
    "", "a", "a\n", "a\r\n", "a\r", "a\x85", "a\u2028", "a\nb\n", "a\r\nb\r\n", "\n", "\n\r", "a\n\n", "\r\n\r\n"]
WORDS = [
    "", "ab", "a b", "é a", "á b", "́", "_a-1", "ä", "á̂", "٣", "-", "́a"]
CASES = [
    "a", "A", "k", "K", "K", "s", "S", "ſ", "i", "I", "ı", "İ", "é", "É", "ß", "ẞ", "σ", "ς", "Σ", "µ", "μ", "ǅ",
    "ǆ", "å", "Å", "ÿ", "Ÿ"]
# fmt: on

# fmt: off
ROWS: dict[str, list[tuple[list[str], list[str], str]]] = {
    "profiles": [
        ([
            "[A-Za-z0-9_.@:+-]*", r"(?s)^(.+)\z", "'", r"[0-9]+(\[[0-9]*\])?(\.[A-Za-z0-9.-]+)?"],
         [
            "", "workq", "it's", "12[3].host", "a\nb", "a\n", "12.a.b"], "<$0>"),
        ([
            r"(?:(?:'[^']*+'|\\'|[A-Za-z0-9_./:=@%+,-])++(?: ++|\z))*+"],
         [
            "", "a b", "'x y' z", r"'it'\''s'", "a ", " a", "'", "a'b", "a\nb", "'a' ; b", "a  b "], "-"),
        ([
            r"(?:export [A-Za-z_][A-Za-z0-9_]*+='(?:[^']++|'\\''|'')*+'(?:\n|\z))*+"],
         [
            "", "export A='b'", "export A='b'\nexport C='d e'\n", "export A='it'\\''s'\n", "export A=b",
            "export A='b' ; x", "export 1='b'", "export A='\n'\n"], "-"),
        ([
            r"(?m)^(?<id>\S+) (?<state>\w)(?:/(?<substate>\d+))?(?: exit=(?<exit>-?\d+))?$"],
         [
            "1.s Q", "1.s F/91 exit=271\n2.s R\n", "x\r\n1.s Q\r\n", "1 Q exit=-1", "1 QQ", ""], "${id}:${state}$3${exit}"),
        ([
            r"\/", r"\.", r"\>", r"a\/b", "]", "}", "a]", r"\<", r"\_", r"\-", r"\ "],
         [
            "a/b.c>d]e}<_- ", ""], "\\\\"),
    ],
    "line ends": [
        ([
            "$", "(?m)$", "^", "(?m)^", r"\Z", r"\z", r"\A", "(?d)$", "(?dm)$", "(?dm)^", r"(?d)\Z", r"\R", ".",
            "(?s).", "(?d).", "(?m)^a$", "a$", r"a\Z", "(?m)^$", "^$", ".*", ".*$", "(?m).*$", r"(?m)^.*\R?", r"\R$",
            r"$\R", r"\R{2}", r"\R*", r"\R*?a", r"\R++\n", r"\r\R", "(?m)(?<=^a)", r"\v", r"\V", r"\h", r"[\v]",
            r"[^\v]", "(?m)$a", "[^a]$", r"\s+$", r"(?m)\s+$", "(?=$)", "(?<=a$)", r"\G.", r"\G"],
         ENDS, "-"),
    ],
    "empty matches": [
        ([
            "", "a*", "a*?", "a?", "a??", "a*+", "(a*)*", "(a*)+", "(a|)*", "(|a)*", "(|a)+", "(?:)*+", "(?:)+",
            "()", "(a*?)*?", "(?:a?){3}", "(a??){2}b", "|a", "a|", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"\b",
            r"\B", "(?:a|b*)*", "(a?b??)*", "((a)?)*", "(?:(a)|b)*", "x*", "(?:a*)*b", "(a*b*)*c", "(a{0}b)*",
            "a{0}", "a{0,0}+b", "(?=a)*", "(?=(a))?a", "(?=(a))*+a", "(?!a)?", "^*", "$+", r"\b*a", "(?:^)?a", "{3}",
            "a{2}{3}"],
         [
            "", "a", "b", "ab", "aab", "ba", "abab", "c"], "-"),
    ],
    "captures": [
        ([
            "(?:(a)|b)*", "(?:(a)|(b))*", "(a|ab)(c|bcd)(d*)", "(?:(a)*b)*", "(?:(a)*(b))+", "((a)|(b))*?b",
            "(?:(?=(a))a|b)*", "(?:(?>(a))b|ac)", "(?=(a)b)?a", "(?!(a)b)a", "(?:(?!(a)b)|ab)", "(a)?(b)?",
            "(?:(a)?b)*", "(a)|b", "(?:(a)|b)(?:(c)|d)", "((a|b)*)", "(?:(ab)|(a))*", "(a){2}", "(a){2,3}",
            "(ab){1,2}", "(ab)+?b?", "(a)*+", "(a|b)*+b?", "(?:(a)b?)*+", "(a(b)?)+", "(?:(a)|c|(b))*",
            "(?:(a){0,1}b)*", "((a)(b)?)*", "(.)*?b", "(..)*", "(.{2})*.", "(a+)*", "(a+)*b", "(a*)(a*)",
            "(a*?)(a*)", "(a)(?<=(a))b", "(?<=(a|ab))b", "(?<=(a)(b)?)", "(?<!(a))b"],
         [
            "", "a", "b", "ab", "ba", "abab", "abc", "abcd", "ac", "aab", "bab", "aaab"], "[$1]"),
    ],
    "back-references": [
        ([
            r"(a)\1", r"(a)?\1", r"(a*)\1", r"(?:(a)|b)\1", r"\1(a)", r"(\1a)", r"(a\1)", r"(a)(b)?\2",
            r"(?<n>a)\k<n>", r"(a)\11", r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10", r"(a)\10", r"(.)\1*", r"(.)\1{2}",
            r"(.)(?=\1)", r"(.)(?!\1)", r"(?<=(.))\1", r"(?:(a)\1)*", r"(a)|b\1", r"(?:\1b|(a))*", r"([ab])\1+?",
            r"(['\x22]).*?\1", r"(?>(a+))\1", r"(a)*\1", r"()\1", r"(|a)\1b"],
         [
            "", "a", "aa", "aaa", "ab", "ba", "aab", "abab", "'a'", "abcdefghijj", "abcdefghija0", "aa1", "aa0"], "<$0>"),
        ([
            r"(?i)(a)\1", r"(?i)(k)\1", r"(?iu)(k)\1", r"(?iu)(.)\1", r"(?i)(.)\1", r"(?iU)(?<n>.)\k<n>"],
         [
            "aA", "Aa", "kK", "kK", "sſ", "éÉ", "σς", "ßẞ", "iı", "Iİ", "😀😀", "𐐀𐐨"], "<$0>"),
    ],
    "case": [
        ([
            "(?i)a", "(?i)k", "(?i)é", "(?iu)a", "(?iu)k", "(?iu)K", "(?iu)s", "(?iu)ſ", "(?iu)é", "(?iu)i",
            "(?iu)I", "(?iu)ı", "(?iu)İ", "(?iu)ß", "(?iu)ẞ", "(?iu)σ", "(?iu)µ", "(?iu)ǅ", "(?iu)å", "(?iu)ÿ",
            "(?iU)é", "(?i)[a-z]", "(?i)[^a-z]", "(?iu)[a-z]", "(?iu)[^a-z]", "(?iu)[k]", "(?iu)[^k]", "(?iu)[à-ö]",
            "(?i)[à-ö]", "(?iu)[^ß]", "(?iu)[µ]", "(?iu)[é]", "(?iu)[Α-Ω]", "(?iu)[ſ]", r"(?i)\p{Lu}",
            r"(?i)\p{Lower}", r"(?i)\p{javaUpperCase}", r"(?iu)\p{IsUppercase}", r"(?iU)\p{Lower}", r"(?i)\P{Lu}",
            r"(?i)\p{Lt}", r"(?i)\p{IsTitlecase}", "(?iu)[a&&k]", "(?iu)ks", "(?iu)[i]", "(?iu)[ı]",
            "(?iu)[\u2000-\u2fff]", "(?i)[@-Z]", "(?i)[Z-_]"],
         CASES, "-"),
    ],
    "words": [
        ([
            r"\b", r"\B", r"\bab\b", r"(?U)\b", r"(?U)\B", r"\w+", r"(?U)\w+", r"\W", r"(?U)\W", r"\d", r"(?U)\d",
            r"\s", r"(?U)\s", r"\D", r"(?U)\D", r"\S", r"(?U)\S", r"\b{g}", r"\X", r"(?U)\p{Alpha}",
            r"(?U)\p{Punct}", r"(?U)\p{Blank}", r"(?U)\p{Graph}"],
         WORDS, "-"),
        ([
            r"\X", r"\X\X", r"\b{g}", r".\b{g}", r"(?:\X)*", r"\X?a", r"\X{2}"],
         [
            "éx", "\r\n", "🇦🇨🇦", "👩\u200d👧", "각", "각", "กำ", "\u0600a"], "-"),
    ],
    "classes": [
        ([
            "[abc]", "[^abc]", "[a-c]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a-c-e]", "[a&&b]", "[a&&a]", "[^a&&b]",
            "[a-z&&[^bc]]", "[a-z&&^bc]", "[a-z&&bc&&c]", "[ab&&[bc]d]", "[a[bc]]", "[a[^b]]", "[^a[b]]",
            "[[a]b&&b]", "[&&a]", "[a&&]", "[&a]", "[a&b]", "[a&&&b]", "[a&&&&b]", "[^&&a]", "[[a-c]&&[b-d]&&[c]]",
            "[a-c&&[b]c]", r"[\d&&[^5]]", r"[^\d\s]", r"[\w-a]", r"[a-\x63]", r"[\Qa-c\E]", r"[\Q]\E]", r"[\Q^\Ea]",
            "[a^]", "[^^]", r"[\^a]", "[[:alpha:]]", "[a||b]", "[a--b]", "[a~~b]", r"[\]]", "[[]", "[a", "[]", "[^]",
            "[b-a]", r"[a-\d]", r"[\d-a]", r"[\b]", r"[\z]", r"[\R]", r"[\X]", r"[\1]", r"[\pLa]", r"[\p{L}&&a]",
            "(?x)[a b]", "(?x)[a #b\n c]", r"(?x)[a\ b]", "(?x)[ ^a]", "(?x)[a- c]", "[a-c&&b-d]", "[a&&[b]",
            "[a-z&&[aeiou]&&[a-e]]", r"[\v-a]", r"[\x09-\v]", "[a-[b]]", "[^[a]]", "[^[^a]]", "[a[b[c]]]",
            "[a&&b[c]]", "[ab[c]&&c]", "[^a[b]&&b]"],
         [ALL_ASCII, "abcdé", "]^-&", ""], "."),
    ],
    "properties": [
        ([
            r"\p{Lower}", r"\p{Upper}", r"\p{ASCII}", r"\p{Alpha}", r"\p{Digit}", r"\p{Alnum}", r"\p{Punct}",
            r"\p{Graph}", r"\p{Print}", r"\p{Blank}", r"\p{Cntrl}", r"\p{XDigit}", r"\p{Space}", r"\p{L}", r"\p{Lu}",
            r"\p{M}", r"\p{N}", r"\p{Z}", r"\p{C}", r"\p{P}", r"\p{S}", r"\p{LC}", r"\p{LD}", r"\p{L1}", r"\p{all}",
            r"\p{Cn}", r"\p{Sc}", r"\p{javaLowerCase}", r"\p{javaUpperCase}", r"\p{javaAlphabetic}",
            r"\p{javaIdeographic}", r"\p{javaTitleCase}", r"\p{javaDigit}", r"\p{javaDefined}", r"\p{javaLetter}",
            r"\p{javaLetterOrDigit}", r"\p{javaJavaIdentifierStart}", r"\p{javaJavaIdentifierPart}",
            r"\p{javaUnicodeIdentifierStart}", r"\p{javaUnicodeIdentifierPart}", r"\p{javaIdentifierIgnorable}",
            r"\p{javaSpaceChar}", r"\p{javaWhitespace}", r"\p{javaISOControl}", r"\p{javaMirrored}",
            r"\p{IsAlphabetic}", r"\p{IsIdeographic}", r"\p{IsLetter}", r"\p{IsLowercase}", r"\p{IsUppercase}",
            r"\p{IsTitlecase}", r"\p{IsPunctuation}", r"\p{IsControl}", r"\p{IsWhite_Space}", r"\p{IsWhiteSpace}",
            r"\p{IsDigit}", r"\p{IsHex_Digit}", r"\p{IsJoin_Control}", r"\p{IsNoncharacter_Code_Point}",
            r"\p{IsAssigned}", r"\p{IsWord}", r"\p{IsL}", r"\p{IsLu}", r"\p{Islatin}", r"\p{IsLatin}",
            r"\p{IsGreek}", r"\p{IsGrek}", r"\p{InGreek}", r"\p{InBasicLatin}", r"\p{InBasic Latin}",
            r"\p{InBASIC_LATIN}", r"\p{InGreekandCoptic}", r"\p{InGreek and Coptic}", r"\p{script=Latin}",
            r"\p{sc=latn}", r"\p{block=BasicLatin}", r"\p{blk=GREEK}", r"\p{general_category=Lu}", r"\p{gc=Lu}",
            r"\p{gc=Lower}", r"\p{GC=lu}", r"\p{IsEmoji}", r"\p{lower}", r"\p{Is}", r"\p{In}", r"\p{Foo}",
            r"\p{IsFoo}", r"\p{InFoo}", r"\p{script=Foo}", r"\p{=}", r"\p{}", r"\p{InNoBlock}", r"\p{IsALPHA}",
            r"\p{Isalnum}", r"\p{IsPosix}", r"\p{Lower }", r"\p{emoji}"],
         [LETTERS], "."),
        ([
            r"\pL", r"\PL", r"\pLu", r"\p", r"\p{", r"\p{L", r"\P{L}+", r"\p{^L}", r"(?x)\p L", r"(?x)\p{ L }",
            r"\pé", r"\p{é}"],
         [
            "aé1-", ""], "."),
    ],
    "escapes": [
        ([
            r"\t", r"\n", r"\r", r"\f", r"\a", r"\e", r"\cA", r"\ca", r"\c?", r"\c", r"\0", r"\07", r"\012",
            r"\0101", r"\0777", r"\08", r"\x41", r"\x4", r"\xg1", r"\x{41}", r"\x{1F600}", r"\x{110000}", r"\x{}",
            r"\x{41", r"\u0041", r"\u004", r"\u{41}", r"\ud83d\ude00", r"\N{LATIN SMALL LETTER A}",
            r"\N{latin small letter a}", r"\N{NO SUCH}", r"\N{", r"\N", r"\Q.*\E", r"\Q.*", r"\Qa\Eb", r"\E",
            r"a\Q\E*", r"\Qa\E*", r"\Qab\E+", r"\\Qa", r"\Q\\E", r"\Qa\\Eb", r"x\Q1\E", r"\x4\Q1\E", r"\g", r"\l",
            r"\K", r"\y", r"\i", r"\C", r"\@", r"\#", "\\", "a\\\\", r"\é", r"\h", r"\H", r"\v", r"\V", r"\L<x>",
            "(?|a)", "(?P<n>a)", "(?#a)", "(?R)", "(a){e<=1}", r"\m"],
         [
            "A\t\n\r\x0c\x07\x1b\x01\x7f", ".*", "ab", "é😀", r"aaa1\E", "8"], "."),
    ],
    "flags and comments": [
        ([
            "(?i)A", "(?i:A)b", "a(?i)B", "(a(?i)B)C", "(?-i)a", "(?i)A(?-i)B", "(?i-i)A", "(?ix: A )", "(?", "(?i",
            "(?z)a", "(?i)", "((?i))A", "(?c)a", "(?-c)a", "(?i)*", "(?x) a b ", "(?x)a#b\nb", "(?x)a #",
            r"(?x)a\ b", "(?x)a* +", "(?x)a {2}", "(?x)(a) (b)", "(?x)( ?:a)", "(?x)(? :a)", "(?x)a\n|\nb",
            "(?x)[a] #c", "(?x: a )b", r"(?x)\Qa b\E", r"(?x)\x 41", "(?x)(?<n >a)", "(?dx)a#\rb", "(?x)a#\x85b",
            "(?x)#", "(?x)a(?-x) b", "(?s-s).", "(?m-m)^", "(?u)é", r"(?U-U)\w", "(?--i)a", "(?i-)A", "(?:a(?i))B",
            "a|(?i)B|C", "(?iA)"],
         [
            "ab", "AB", "a b", "Ab", "aab", "é", "\n", "abc", " a"], "-"),
    ],
    "quantifiers": [
        ([
            "a{2}", "a{2,}", "a{1,2}", "a{2,1}", "a{,2}", "a{", "a{a}", "a{1", "a{1,", "a{1,2", "a{99999999999}",
            "a{2147483648}", "a{1}{2}", "a**", "a?+", "a+?+", "*a", "+", "?", "a|*", "(*a)", "(?:*)", "^*", "a{0}",
            "a{0,1}b", "a{0,1}?b", "a{0,1}+a", "a{1,2}?b", "a{1,2}+a", "(a){0}", "(ab){2}", "(?:ab|a){2}",
            "(?:ab|a){2}+b", "(?:a|ab)*+c", "(?:a|ab)++b", "(?:ab?)*+b", "(?>a|ab)c", "(?>a*)a", "(?>(a)|b)*",
            "(?>ab|a)*b", "(?>aa|a)*", "(?>a|aa){2}", "(?:a|b){2,3}?b", "(?:a?b){2}", "(?:a*b)*?c", "a{ 1}", "a{1 }",
            "a{-1}", "a{1,2}{3}", "x{0}*", "(a{2}){2}", "(?:a{1,2}){2}b", "(?:a{1,2}?){2}b", "(?:a|b)*?c",
            "(?:aa|a){3}", "(a|b){2,}?b", "(?:(?:a)+b)+c"],
         [
            "", "a", "aa", "aaa", "ab", "abab", "aab", "abc", "aabc", "ababc"], "-"),
    ],
    "look-around": [
        ([
            "(?=a)b", "(?=ab)a", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?<=a|b)c", "(?<=ab|b)c", "(?<=a{1,2})b",
            "(?<=a*)b", "(?<=xa*)b", "(?<=a+)b", "(?<=a+?)b", "(?<=(a)+)b", "(?<=(?:ab)+)c", "(?<=(?:a|b)+)c",
            "(?<=(?:ab){1,2})c", "(?<=a*b*)c", r"(?<=(a)\1)b", "(?<=^)a", "(?<=^a)b", "(?<=a$)", r"(?<=\b)a",
            "(?<=(?=a))a", "(?<=(?<=a)b)c", "(?<!a|b)c", "(?<!^)a", "(?<=a?)b", "(?<=(?>a|ab))c", "(?<=.)",
            "(?<=.{2})c", "(?<=[ab]{2,3})c", "(?<=a{2,})b", "(?=a*)b", r"(?=(a*))\1b", "(?!a*b)c", "(?=(?!a)b)b",
            "(?!(?=a))b", r"(?<=\R)a", r"(?<=\X)a", "(?<=)", "(?=)", "(?!)", "(?<!)", "(?<=|a)b", "(?<=a|)b",
            "(?<=a(?=b))b", "(?<=a(?!c))b", "(?=a){2}a", "(?=a)++a", "(?!a)*b", "(?<=a)?b", "(?<a)", "(?<", "(?<=",
            "(?<n", "(?<1>a)", "(?<n>a)(?<n>b)", "(?<n_>a)", r"\k<n>", r"\k{n}", r"\kn", "(?<n>a)(?<N>b)", "(?$a)",
            "(?@a)", "(", ")", "(?:", "(a", "a)", "(?=a", "(?>"],
         [
            "", "a", "b", "ab", "aab", "abc", "c", "abab", "\na", "ababc", "aabb", "bc"], "-"),
    ],
    "Java's own ways": [
        ([
            "(?:a|b)*c", "(?:a|b){1,}c", "(?:a|ab){1,2}c", "(?:(?:a|b)*c){2}", "(?:a|b)*(?:a|b)*c", "(?:(a)|(b))*+c",
            "(?:a?|b)*c", "((?:a|b)*)*c", "(?:(?:a|b)+?c)*", "(?:ab*)*?c", "(?:a(?:b|bc))*d", r"(?:.|\n)*c",
            "(?:[ab]|a)*c", "((a|b)*c)*", "(?>(?:a|b)*)c", "(?=(?:a|b)*c)a", "(?!(?:a|b)*c)a", "(?:a|(?:b|c)*)*d",
            "(a|b|ab)*bc", "(?:(?:ab|a)(?:b|))*c", "(a?b?)*?c", "(?:a|a)*b", "(?:a*a*)*b", "(a+|b+)*c",
            r"(?:(a)|b\1)*c"],
         [
            "", "c", "ac", "abc", "ababc", "bcac", "abd", "abcd", "abb", "aabbc", "bc", "abcbc"], "<$0>"),
    ],
    "outside the BMP": [
        ([
            "😀", "[😀]", "[^a]", ".", r"\x{1F600}", r"[\x{1F600}-\x{1F64F}]", "😀*", r"(😀)\1", "(?i)𐐀", "(?iu)𐐀",
            "(?iu)[𐐀]", r"\W", r"\p{So}", r"\P{L}", "a.b", "(?<=😀)a", "^.$", r"\Q😀\E", ".{2}", "[^😀]", "😀|a",
            "(?:😀|a)+", "😀{2}", r"\S+"],
         [
            "😀", "a😀b", "😀😀", "𐐀𐐨", "😀a", "a"], "-"),
    ],
}
REPLACEMENTS = [
    "$0", "$1", "$2", "$3", "$12", "$1x", "${n}", "${x}", "${n", "${1}", "${}", "$", "a$", "$$", "$a", "\\", "a\\",
    r"\$", "\\\\", r"\n", "$01", "$10", "$1$2", "é$1", "${n}1", "$ 1", r"\$1", "${n }", "$-1", "$٣", "${né}"]
# fmt: on


def cases() -> Iterator[tuple[str, str, str]]:
    """Give pattern, value and replacement of every case."""
    for rows in ROWS.values():
        for patterns, values, replacement in rows:
            for pattern in patterns:
                for value in values:
                    yield pattern, value, replacement
    for replacement in REPLACEMENTS:
        for pattern in ("(?<n>a)(b)?", "a", "(a)" * 12):
            for value in ("xabx", "x", "a" * 13):
                yield pattern, value, replacement
