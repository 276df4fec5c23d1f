import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.function.IntUnaryOperator;
import java.util.zip.GZIPOutputStream;

/**
 * Records what JDK 17 knows of Unicode into osprofile/javaregex/unicode13.gz.
 *
 * java --add-opens java.base/java.lang=ALL-UNNAMED \
 *      --add-opens java.base/java.util.regex=ALL-UNNAMED RecordUnicode.java unicode13.gz
 *
 * One line a set: a key, a blank, then ranges. A range is "gap" or "gap-more" in base 36, where gap
 * counts from the end of the range before, and more is how many code points follow the first.
 */
public class RecordUnicode {
    static final int END = Character.MAX_CODE_POINT + 1;

    static String ranges(IntPredicate in) {
        StringBuilder out = new StringBuilder();
        int last = 0;
        for (int c = 0; c < END; c++) {
            if (!in.test(c)) continue;
            int first = c;
            while (c + 1 < END && in.test(c + 1)) c++;
            if (out.length() > 0) out.append(',');
            out.append(Integer.toString(first - last, 36));
            if (c > first) out.append('-').append(Integer.toString(c - first, 36));
            last = c + 1;
        }
        return out.toString();
    }

    /** Code points that are mapped elsewhere, as "gap:difference". */
    static String mapping(IntUnaryOperator map) {
        StringBuilder out = new StringBuilder();
        int last = 0;
        for (int c = 0; c < END; c++) {
            int to = map.applyAsInt(c);
            if (to == c) continue;
            if (out.length() > 0) out.append(',');
            out.append(Integer.toString(c - last, 36)).append(':').append(Integer.toString(to - c, 36));
            last = c + 1;
        }
        return out.toString();
    }

    static final String[] CATEGORIES = {
        "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf",
        "", "Co", "Cs", "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf"};

    public static void main(String[] args) throws Exception {
        try (OutputStream file = new GZIPOutputStream(new FileOutputStream(args[0]));
                PrintStream out = new PrintStream(file, false, StandardCharsets.US_ASCII)) {
            for (int i = 0; i < CATEGORIES.length; i++) {
                final int type = i;
                if (!CATEGORIES[i].isEmpty()) out.println("gc:" + CATEGORIES[i] + " " + ranges(c -> Character.getType(c) == type));
            }
            out.println("is:Alphabetic " + ranges(Character::isAlphabetic));
            out.println("is:Ideographic " + ranges(Character::isIdeographic));
            out.println("is:Lowercase " + ranges(Character::isLowerCase));
            out.println("is:Uppercase " + ranges(Character::isUpperCase));
            out.println("is:Mirrored " + ranges(Character::isMirrored));
            out.println("is:JavaWhitespace " + ranges(Character::isWhitespace));
            out.println("is:JavaIdentifierStart " + ranges(Character::isJavaIdentifierStart));
            out.println("is:JavaIdentifierPart " + ranges(Character::isJavaIdentifierPart));
            out.println("is:UnicodeIdentifierStart " + ranges(Character::isUnicodeIdentifierStart));
            out.println("is:UnicodeIdentifierPart " + ranges(Character::isUnicodeIdentifierPart));
            out.println("is:IdentifierIgnorable " + ranges(Character::isIdentifierIgnorable));
            out.println("to:upper " + mapping(Character::toUpperCase));
            out.println("to:lower " + mapping(Character::toLowerCase));
            for (Character.UnicodeScript script : Character.UnicodeScript.values())
                out.println("sc:" + script + " " + ranges(c -> Character.UnicodeScript.of(c) == script));
            Field aliases = Character.UnicodeScript.class.getDeclaredField("aliases");
            aliases.setAccessible(true);
            new TreeMap<String, Object>((Map<String, Object>) aliases.get(null))
                .forEach((alias, script) -> out.println("sca:" + alias + " " + script));
            Field blocks = Character.UnicodeBlock.class.getDeclaredField("map");
            blocks.setAccessible(true);
            Map<String, Character.UnicodeBlock> names = new TreeMap<>((Map<String, Character.UnicodeBlock>) blocks.get(null));
            names.forEach((name, block) -> {
                if (name.equals(block.toString()))
                    out.println("blk:" + block + " " + ranges(c -> Character.UnicodeBlock.of(c) == block));
                else
                    out.println("blka:" + name.replace(' ', '~') + " " + block);
            });
            Class<?> grapheme = Class.forName("java.util.regex.Grapheme");
            Method type = grapheme.getDeclaredMethod("getType", int.class);
            type.setAccessible(true);
            int[] types = new int[END];
            for (int c = 0; c < END; c++) types[c] = (Integer) type.invoke(null, c);
            for (int t = 1; t <= 14; t++) {
                final int kind = t;
                out.println("gcb:" + t + " " + ranges(c -> types[c] == kind));
            }
        }
    }
}
