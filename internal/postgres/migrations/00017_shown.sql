-- +goose Up

-- If another session writes for long, this gives up rather than have every client queue behind it: run `api migrate` again.
-- Reading goes on, and so does accepting; settling waits for an instant.
SET LOCAL statement_timeout = '800ms';
LOCK TABLE courses, runs IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL statement_timeout = 0;

-- Triggers refuse at least what enroll.ParseAddress and enroll.CheckLine refuse. They still look only at values that change.

-- +goose StatementBegin
-- Shows something: has a letter, a number, a punctuation mark or a symbol that is no blank. These are the ranges of Unicode
-- 15, in the basic plane and the large ones beyond it; a test compares them with enroll.CheckLine.
CREATE FUNCTION is_visible(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value ~ ('['
        || '\u0021-\u007e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u0482'
        || '\u048a-\u052f\u0531-\u0556\u0559-\u058a\u058d-\u058f\u05be\u05c0\u05c3\u05c6\u05d0-\u05ea\u05ef-\u05f4'
        || '\u0606-\u060f\u061b\u061d-\u064a\u0660-\u066f\u0671-\u06d5\u06de\u06e5-\u06e6\u06e9\u06ee-\u070d\u0710'
        || '\u0712-\u072f\u074d-\u07a5\u07b1\u07c0-\u07ea\u07f4-\u07fa\u07fe-\u0815\u081a\u0824\u0828\u0830-\u083e'
        || '\u0840-\u0858\u085e\u0860-\u086a\u0870-\u088e\u08a0-\u08c9\u0904-\u0939\u093d\u0950\u0958-\u0961\u0964-\u0980'
        || '\u0985-\u098c\u098f-\u0990\u0993-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9\u09bd\u09ce\u09dc-\u09dd\u09df-\u09e1'
        || '\u09e6-\u09fd\u0a05-\u0a0a\u0a0f-\u0a10\u0a13-\u0a28\u0a2a-\u0a30\u0a32-\u0a33\u0a35-\u0a36\u0a38-\u0a39'
        || '\u0a59-\u0a5c\u0a5e\u0a66-\u0a6f\u0a72-\u0a74\u0a76\u0a85-\u0a8d\u0a8f-\u0a91\u0a93-\u0aa8\u0aaa-\u0ab0'
        || '\u0ab2-\u0ab3\u0ab5-\u0ab9\u0abd\u0ad0\u0ae0-\u0ae1\u0ae6-\u0af1\u0af9\u0b05-\u0b0c\u0b0f-\u0b10\u0b13-\u0b28'
        || '\u0b2a-\u0b30\u0b32-\u0b33\u0b35-\u0b39\u0b3d\u0b5c-\u0b5d\u0b5f-\u0b61\u0b66-\u0b77\u0b83\u0b85-\u0b8a'
        || '\u0b8e-\u0b90\u0b92-\u0b95\u0b99-\u0b9a\u0b9c\u0b9e-\u0b9f\u0ba3-\u0ba4\u0ba8-\u0baa\u0bae-\u0bb9\u0bd0'
        || '\u0be6-\u0bfa\u0c05-\u0c0c\u0c0e-\u0c10\u0c12-\u0c28\u0c2a-\u0c39\u0c3d\u0c58-\u0c5a\u0c5d\u0c60-\u0c61'
        || '\u0c66-\u0c6f\u0c77-\u0c80\u0c84-\u0c8c\u0c8e-\u0c90\u0c92-\u0ca8\u0caa-\u0cb3\u0cb5-\u0cb9\u0cbd\u0cdd-\u0cde'
        || '\u0ce0-\u0ce1\u0ce6-\u0cef\u0cf1-\u0cf2\u0d04-\u0d0c\u0d0e-\u0d10\u0d12-\u0d3a\u0d3d\u0d4e-\u0d4f\u0d54-\u0d56'
        || '\u0d58-\u0d61\u0d66-\u0d7f\u0d85-\u0d96\u0d9a-\u0db1\u0db3-\u0dbb\u0dbd\u0dc0-\u0dc6\u0de6-\u0def\u0df4'
        || '\u0e01-\u0e30\u0e32-\u0e33\u0e3f-\u0e46\u0e4f-\u0e5b\u0e81-\u0e82\u0e84\u0e86-\u0e8a\u0e8c-\u0ea3\u0ea5'
        || '\u0ea7-\u0eb0\u0eb2-\u0eb3\u0ebd\u0ec0-\u0ec4\u0ec6\u0ed0-\u0ed9\u0edc-\u0edf\u0f00-\u0f17\u0f1a-\u0f34\u0f36'
        || '\u0f38\u0f3a-\u0f3d\u0f40-\u0f47\u0f49-\u0f6c\u0f85\u0f88-\u0f8c\u0fbe-\u0fc5\u0fc7-\u0fcc\u0fce-\u0fda'
        || '\u1000-\u102a\u103f-\u1055\u105a-\u105d\u1061\u1065-\u1066\u106e-\u1070\u1075-\u1081\u108e\u1090-\u1099'
        || '\u109e-\u10c5\u10c7\u10cd\u10d0-\u115e\u1161-\u1248\u124a-\u124d\u1250-\u1256\u1258\u125a-\u125d\u1260-\u1288'
        || '\u128a-\u128d\u1290-\u12b0\u12b2-\u12b5\u12b8-\u12be\u12c0\u12c2-\u12c5\u12c8-\u12d6\u12d8-\u1310\u1312-\u1315'
        || '\u1318-\u135a\u1360-\u137c\u1380-\u1399\u13a0-\u13f5\u13f8-\u13fd\u1400-\u167f\u1681-\u169c\u16a0-\u16f8'
        || '\u1700-\u1711\u171f-\u1731\u1735-\u1736\u1740-\u1751\u1760-\u176c\u176e-\u1770\u1780-\u17b3\u17d4-\u17dc'
        || '\u17e0-\u17e9\u17f0-\u17f9\u1800-\u180a\u1810-\u1819\u1820-\u1878\u1880-\u1884\u1887-\u18a8\u18aa\u18b0-\u18f5'
        || '\u1900-\u191e\u1940\u1944-\u196d\u1970-\u1974\u1980-\u19ab\u19b0-\u19c9\u19d0-\u19da\u19de-\u1a16\u1a1e-\u1a54'
        || '\u1a80-\u1a89\u1a90-\u1a99\u1aa0-\u1aad\u1b05-\u1b33\u1b45-\u1b4c\u1b50-\u1b6a\u1b74-\u1b7e\u1b83-\u1ba0'
        || '\u1bae-\u1be5\u1bfc-\u1c23\u1c3b-\u1c49\u1c4d-\u1c88\u1c90-\u1cba\u1cbd-\u1cc7\u1cd3\u1ce9-\u1cec\u1cee-\u1cf3'
        || '\u1cf5-\u1cf6\u1cfa\u1d00-\u1dbf\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b'
        || '\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fc4\u1fc6-\u1fd3\u1fd6-\u1fdb\u1fdd-\u1fef\u1ff2-\u1ff4\u1ff6-\u1ffe'
        || '\u2010-\u2027\u2030-\u205e\u2070-\u2071\u2074-\u208e\u2090-\u209c\u20a0-\u20c0\u2100-\u218b\u2190-\u2426'
        || '\u2440-\u244a\u2460-\u27ff\u2801-\u2b73\u2b76-\u2b95\u2b97-\u2cee\u2cf2-\u2cf3\u2cf9-\u2d25\u2d27\u2d2d'
        || '\u2d30-\u2d67\u2d6f-\u2d70\u2d80-\u2d96\u2da0-\u2da6\u2da8-\u2dae\u2db0-\u2db6\u2db8-\u2dbe\u2dc0-\u2dc6'
        || '\u2dc8-\u2dce\u2dd0-\u2dd6\u2dd8-\u2dde\u2e00-\u2e5d\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u2ff0-\u2ffb'
        || '\u3001-\u3029\u3030-\u303f\u3041-\u3096\u309b-\u30ff\u3105-\u312f\u3131-\u3163\u3165-\u318e\u3190-\u31e3'
        || '\u31f0-\u321e\u3220-\ua48c\ua490-\ua4c6\ua4d0-\ua62b\ua640-\ua66e\ua673\ua67e-\ua69d\ua6a0-\ua6ef\ua6f2-\ua6f7'
        || '\ua700-\ua7ca\ua7d0-\ua7d1\ua7d3\ua7d5-\ua7d9\ua7f2-\ua801\ua803-\ua805\ua807-\ua80a\ua80c-\ua822\ua828-\ua82b'
        || '\ua830-\ua839\ua840-\ua877\ua882-\ua8b3\ua8ce-\ua8d9\ua8f2-\ua8fe\ua900-\ua925\ua92e-\ua946\ua95f-\ua97c'
        || '\ua984-\ua9b2\ua9c1-\ua9cd\ua9cf-\ua9d9\ua9de-\ua9e4\ua9e6-\ua9fe\uaa00-\uaa28\uaa40-\uaa42\uaa44-\uaa4b'
        || '\uaa50-\uaa59\uaa5c-\uaa7a\uaa7e-\uaaaf\uaab1\uaab5-\uaab6\uaab9-\uaabd\uaac0\uaac2\uaadb-\uaaea\uaaf0-\uaaf4'
        || '\uab01-\uab06\uab09-\uab0e\uab11-\uab16\uab20-\uab26\uab28-\uab2e\uab30-\uab6b\uab70-\uabe2\uabeb\uabf0-\uabf9'
        || '\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb\uf900-\ufa6d\ufa70-\ufad9\ufb00-\ufb06\ufb13-\ufb17\ufb1d\ufb1f-\ufb36'
        || '\ufb38-\ufb3c\ufb3e\ufb40-\ufb41\ufb43-\ufb44\ufb46-\ufbc2\ufbd3-\ufd8f\ufd92-\ufdc7\ufdcf\ufdf0-\ufdff'
        || '\ufe10-\ufe19\ufe30-\ufe52\ufe54-\ufe66\ufe68-\ufe6b\ufe70-\ufe74\ufe76-\ufefc\uff01-\uff9f\uffa1-\uffbe'
        || '\uffc2-\uffc7\uffca-\uffcf\uffd2-\uffd7\uffda-\uffdc\uffe0-\uffe6\uffe8-\uffee\ufffc-\ufffd\U00010600-\U00010736'
        || '\U00011fff-\U00012399\U00013000-\U0001342f\U00014400-\U00014646\U00016800-\U00016a38\U00017000-\U000187f7'
        || '\U00018800-\U00018cd5\U0001b170-\U0001b2fb\U0001d552-\U0001d6a5\U0001d7ce-\U0001d9ff\U0001f300-\U0001f6d7'
        || '\U0001f900-\U0001fa53\U00020000-\U0002a6df\U0002a700-\U0002b739\U0002b820-\U0002cea1\U0002ceb0-\U0002ebe0'
        || '\U0002f800-\U0002fa1d\U00030000-\U0003134a\U00031350-\U000323af'
        || ']')
$$;
-- The text that an A-label stands for, without its xn-- (RFC 3492), or NULL if it stands for none.
CREATE FUNCTION decode_punycode(label text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    code   text := substring(label FROM '[^-]*$');
    result text := left(label, greatest(length(label) - length(code) - 1, 0));
    n int := 128; i int := 0; bias int := 72; before int; weight int; digit int; threshold int; k int; length_now int;
BEGIN
    WHILE code <> '' LOOP
        before := i; weight := 1; k := 36;
        LOOP
            digit := strpos('abcdefghijklmnopqrstuvwxyz0123456789', left(code, 1)) - 1;
            IF code = '' OR digit < 0 THEN RETURN NULL; END IF;
            code := substr(code, 2);
            i := i + digit * weight;
            threshold := least(greatest(k - bias, 1), 26);
            EXIT WHEN digit < threshold;
            weight := weight * (36 - threshold);
            k := k + 36;
        END LOOP;
        length_now := length(result) + 1;
        bias := CASE WHEN before = 0 THEN (i - before) / 700 ELSE (i - before) / 2 END;
        bias := bias + bias / length_now;
        k := 0;
        WHILE bias > 455 LOOP
            bias := bias / 35; k := k + 36;
        END LOOP;
        bias := k + 36 * bias / (bias + 38);
        n := n + i / length_now;
        i := i % length_now;
        result := left(result, i) || chr(n) || substr(result, i + 1);
        i := i + 1;
    END LOOP;
    RETURN result;
EXCEPTION WHEN others THEN
    RETURN NULL; -- a number is too large, or no character
END $$;
-- A label of a domain. An A-label must stand for lower-case letters of scripts that are written from left to right: of other
-- characters, whether a domain may have them is not known here.
CREATE FUNCTION is_domain_label(label text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    decoded text;
BEGIN
    IF label !~ '^[0-9A-Za-z]([-0-9A-Za-z]{0,61}[0-9A-Za-z])?$' THEN
        RETURN false;
    ELSIF label ~* '^xn--' THEN
        decoded := decode_punycode(lower(substr(label, 5)));
        RETURN coalesce(decoded ~ '^[-0-9a-zß-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıĵķĸĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżžά-ώа-џ一-鿕ぁ-ゖァ-ヺ가-힣]+$'
            AND decoded !~ '^-|^..--|-$' AND decoded ~ '[^-0-9a-z]', false);
    END IF;
    RETURN label !~ '^..--';
END $$;
CREATE OR REPLACE FUNCTION is_address(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(value) <= 254 AND octet_length(local) <= 64
        AND local ~ '^[-!#$%&''*+/0-9=?A-Z^_`a-z{|}~]+(\.[-!#$%&''*+/0-9=?A-Z^_`a-z{|}~]+)*$'
        AND domain ~ '^[^.]+\.' AND domain !~ '(^|\.)[0-9]+$' AND domain !~ '^\.|\.\.|\.$'
        AND (SELECT bool_and(is_domain_label(label)) FROM unnest(string_to_array(domain, '.')) AS label)
    FROM (SELECT split_part(value, '@', 1) AS local, substr(value, strpos(value, '@') + 1) AS domain) parts
$$;
CREATE OR REPLACE FUNCTION courses_check_values() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    one_line constant text := 'must be one line without control characters and characters that change the direction of text';
BEGIN
    IF NEW.title IS DISTINCT FROM OLD.title THEN
        PERFORM require_value('title', is_one_line(NEW.title) AND is_visible(NEW.title), one_line || ', with a visible character');
    END IF;
    IF NEW.organiser IS DISTINCT FROM OLD.organiser THEN
        PERFORM require_value('organiser', NEW.organiser = '' OR is_one_line(NEW.organiser) AND is_visible(NEW.organiser),
            one_line || ', with a visible character, or empty');
    END IF;
    IF NEW.description IS DISTINCT FROM OLD.description THEN
        PERFORM require_value('description', NEW.description = ''
            OR is_one_line(translate(NEW.description, E'\t\n\r', '')) AND is_visible(NEW.description),
            'must not contain characters that change the direction of text, nor control characters other than tabs and line ends; must have a visible character, or be empty');
    END IF;
    IF NEW.reply_to IS DISTINCT FROM OLD.reply_to THEN
        PERFORM require_value('reply_to', NEW.reply_to = '' OR is_address(NEW.reply_to),
            'must be empty or a plain address like name@example.org, without quotes, brackets, blanks or a display name, and with the domain in ASCII (xn--mller-kva.example for müller.example)');
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION runs_check_values() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.location IS DISTINCT FROM OLD.location THEN
        PERFORM require_value('location', NEW.location = '' OR is_one_line(NEW.location) AND is_visible(NEW.location),
            'must be one line without control characters and characters that change the direction of text, with a visible character, or empty');
    END IF;
    -- Looking a zone up reads the server's files of all zones, some tens of milliseconds: once in a transaction that writes
    -- many runs. Names that Postgres knows and enroll.ParseTimeZone does not are those of a machine, or not for people.
    IF NEW.time_zone IS DISTINCT FROM OLD.time_zone AND NEW.time_zone IS DISTINCT FROM current_setting('lastseat.known_time_zone', true) THEN
        PERFORM require_value('time_zone', NEW.time_zone !~ '^(posix/|right/|localtime$|posixrules$|Factory$)'
            AND EXISTS (SELECT FROM pg_timezone_names WHERE name = NEW.time_zone),
            'must be the name of a time zone, such as Europe/Berlin, in this spelling');
        PERFORM set_config('lastseat.known_time_zone', NEW.time_zone, true);
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
