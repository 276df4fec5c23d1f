import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * What java.util.regex does with a case: java RecordVectors.java < cases > results
 *
 * A case is a line, a JSON array [pattern, value, replacement]. A result is a line as well:
 *
 *   ["ok", replaced, [spans of each find()], spans of matches() or null]   spans in code points
 *   ["bad pattern", index, description]    ["bad replacement", replaced so far, description]
 *   ["slow"]   ["overflow"]   ["crash", exception]
 *   ["split"]  a match begins or ends inside a surrogate pair: where Java steps by halves
 */
public class RecordVectors {
    /** Thrown where a match takes too many steps. */
    static class Slow extends RuntimeException {}

    static class Guarded implements CharSequence {
        final String text;
        int left = 2_000_000;

        Guarded(String text) { this.text = text; }

        public int length() { return text.length(); }

        public char charAt(int index) {
            if (--left < 0) throw new Slow();
            return text.charAt(index);
        }

        public CharSequence subSequence(int start, int end) { return text.subSequence(start, end); }

        public String toString() { return text; }
    }

    static class Split extends RuntimeException {}

    static int point(String text, int index) {
        if (index < 0) return -1;
        if (index > 0 && index < text.length() && Character.isSurrogatePair(text.charAt(index - 1), text.charAt(index)))
            throw new Split();
        return text.codePointCount(0, index);
    }

    static String spans(Matcher m, String text) {
        StringBuilder out = new StringBuilder("[");
        for (int g = 0; g <= m.groupCount(); g++) {
            if (g > 0) out.append(',');
            out.append('[').append(point(text, m.start(g))).append(',').append(point(text, m.end(g))).append(']');
        }
        return out.append(']').toString();
    }

    static String answer(String pattern, String text, String replacement) {
        Pattern p;
        try {
            p = Pattern.compile(pattern);
        } catch (PatternSyntaxException e) {
            return "[\"bad pattern\"," + e.getIndex() + "," + quote(e.getDescription()) + "]";
        } catch (StackOverflowError e) {
            return "[\"overflow\"]";
        } catch (RuntimeException | Error e) {
            return "[\"crash\"," + quote(e.toString()) + "]";
        }
        try {
            StringBuilder found = new StringBuilder("[");
            Matcher m = p.matcher(new Guarded(text));
            while (m.find()) {
                if (found.length() > 1) found.append(',');
                found.append(spans(m, text));
            }
            m = p.matcher(new Guarded(text));
            String whole = m.matches() ? spans(m, text) : "null";
            String replaced;
            try {
                replaced = p.matcher(new Guarded(text)).replaceAll(replacement);
            } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                return "[\"bad replacement\"," + quote(String.valueOf(e.getMessage())) + "]";
            }
            return "[\"ok\"," + quote(replaced) + "," + found + "]," + whole + "]";
        } catch (Slow e) {
            return "[\"slow\"]";
        } catch (Split e) {
            return "[\"split\"]";
        } catch (StackOverflowError e) {
            return "[\"overflow\"]";
        } catch (RuntimeException | Error e) {
            return "[\"crash\"," + quote(e.toString()) + "]";
        }
    }

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ' || c > '~') out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }

    /** Reads an array of strings. */
    static List<String> read(String line) {
        List<String> out = new ArrayList<>();
        int i = 0;
        while ((i = line.indexOf('"', i)) >= 0) {
            StringBuilder text = new StringBuilder();
            for (i++; line.charAt(i) != '"'; i++) {
                char c = line.charAt(i);
                if (c != '\\') { text.append(c); continue; }
                c = line.charAt(++i);
                switch (c) {
                    case 'n' -> text.append('\n');
                    case 'r' -> text.append('\r');
                    case 't' -> text.append('\t');
                    case 'b' -> text.append('\b');
                    case 'f' -> text.append('\f');
                    case 'u' -> {
                        text.append((char) Integer.parseInt(line.substring(i + 1, i + 5), 16));
                        i += 4;
                    }
                    default -> text.append(c);
                }
            }
            i++;
            out.add(text.toString());
        }
        return out;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        String line;
        while ((line = in.readLine()) != null) {
            List<String> one = read(line);
            out.println(answer(one.get(0), one.get(1), one.get(2)));
        }
        out.flush();
    }
}
