import { describe, expect, it } from 'vitest';
import { JsonError, JsonNumber, JsonObject, type JsonValue, parseJson } from './json.ts';

/** The value that `JSON.parse` would have returned. */
function plain(json: JsonValue): unknown {
  if (json instanceof JsonNumber) return Number(json.text);
  if (Array.isArray(json)) return json.map(plain);
  if (json instanceof JsonObject) {
    return Object.fromEntries(json.entries.map(([key, value]) => [key, plain(value)]));
  }
  return json;
}

describe('the JSON parser', () => {
  const good = [
    'null',
    ' true ',
    'false',
    '0',
    '-0',
    '12',
    '-1.5',
    '1e5',
    '1E+5',
    '1.25e-7',
    '""',
    '"a"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"',
    '"é😀"',
    '[]',
    '[ ]',
    '[1,[2,[3]]]',
    '{}',
    '{ "a" : 1 , "b" : { "c" : [ ] } }',
    '\t\n\r [1]\n',
    '"\u2028"',
    '"a\\u0000b"',
  ];
  for (const text of good) {
    it(`takes ${JSON.stringify(text)}`, () => {
      expect(plain(parseJson(text))).toEqual(JSON.parse(text));
    });
  }

  const bad: readonly (readonly [string, string])[] = [
    ['', 'EOF while parsing a value at line 1 column 0'],
    ['  ', 'EOF while parsing a value at line 1 column 2'],
    ['nul', 'expected ident at line 1 column 1'],
    ['1 2', 'trailing characters at line 1 column 3'],
    ['[1,]', 'trailing comma at line 1 column 4'],
    ['[1', 'EOF while parsing a list at line 1 column 2'],
    ['[1 2]', 'expected `,` or `]` at line 1 column 4'],
    ['{"a":1,}', 'trailing comma at line 1 column 8'],
    ['{"a" 1}', 'expected `:` at line 1 column 6'],
    ['{1:2}', 'key must be a string at line 1 column 2'],
    ['{', 'EOF while parsing an object at line 1 column 1'],
    ['"abc', 'EOF while parsing a string at line 1 column 4'],
    [
      '"a\nb"',
      'control character (\\u0000-\\u001F) found while parsing a string at line 2 column 0',
    ],
    ['"\\x"', 'invalid escape at line 1 column 2'],
    ['"\\u12"', 'invalid escape at line 1 column 2'],
    ['"\\ud800"', 'lone leading surrogate in hex escape at line 1 column 8'],
    ['"\\udc00"', 'lone trailing surrogate in hex escape at line 1 column 8'],
    ['01', 'invalid number at line 1 column 2'],
    ['1.', 'invalid number at line 1 column 2'],
    ['1e', 'invalid number at line 1 column 2'],
    ['.5', 'expected value at line 1 column 1'],
    ['+1', 'expected value at line 1 column 1'],
    ['NaN', 'expected value at line 1 column 1'],
    ["'a'", 'expected value at line 1 column 1'],
    ['[\n"é", x]', 'expected value at line 2 column 7'],
    ['\ufeff1', 'expected value at line 1 column 3'],
    ['/* */1', 'expected value at line 1 column 1'],
  ];
  for (const [text, message] of bad) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parseJson(text)).toThrow(new JsonError(message));
    });
  }

  it('keeps the digits of numbers, the order of keys and duplicates', () => {
    const json = parseJson('{"b":12345678901234567890.0,"a":1,"b":2}') as JsonObject;
    expect(json.entries.map(([key]) => key)).toEqual(['b', 'a', 'b']);
    expect(json.entries.map(([, value]) => (value as JsonNumber).text)[0]).toBe(
      '12345678901234567890.0',
    );
    expect((json.get('b') as JsonNumber).text).toBe('2');
    expect(json.get('c')).toBeUndefined();
  });

  it('tells integers by how they are written', () => {
    const isInteger = (text: string) => (parseJson(text) as JsonNumber).isInteger;
    expect(['1', '-12', '1.0', '1e3'].map(isInteger)).toEqual([true, true, false, false]);
  });

  it('is not misled by __proto__', () => {
    const json = parseJson('{"__proto__":1}') as JsonObject;
    expect(json.entries).toHaveLength(1);
  });

  it('reads a long text in linear time', () => {
    const text = `[${'"'}${'\\n'.repeat(200_000)}${'"'}${',1'.repeat(200_000)}]`;
    expect(parseJson(text)).toHaveLength(200_001);
  });
});
