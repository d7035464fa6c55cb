import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import * as ours from './globals.ts';

const parts = [
  'href',
  'origin',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

type Url = Record<(typeof parts)[number], string>;

/** The parts of a URL, or that it is invalid. */
function shown(make: () => unknown): unknown {
  try {
    const url = make() as Url;
    return Object.fromEntries(parts.map((part) => [part, url[part]]));
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return 'invalid';
  }
}

const whole = [
  'http://example.com',
  'HTTP://EXAMPLE.com:80/a b?c d#e f',
  'https://u:p@db.example.com:8443/x/../y',
  'https://ex.com/%7Euser/é?q=ü&x=\'"<>',
  'http://[::1]:3000/',
  'http://[1:0:0:2::3]/',
  'http://[::ffff:1.2.3.4]',
  'http://[1::2::3]/',
  'http://1.2.3',
  'http://0x7f.1/',
  'http://256.256.256.256',
  'http://4294967295',
  'http://4294967296',
  'http://09.1',
  'http://1.2.3.4.5',
  'http://münchen.de/',
  'http://例え.テスト/x',
  'http://BÜCHER.example',
  'http://a%41.com',
  'http://a b.com',
  'http://',
  'http:///x',
  'http:x',
  'http:\\\\x\\y',
  'mailto:ada@example.com?subject=x',
  'data:text/plain,a b#c',
  'ws://h:80/',
  'wss://h:443/?',
  'ftp://h:21',
  'file:///etc/passwd',
  'file://localhost/x',
  'file://host/x/../../y',
  'foo://Host:8080/a/./b',
  'foo:/a//b',
  'foo:a/b',
  'foo:',
  'x',
  '',
  '//h',
  '/x',
  '?q',
  '#f',
  'http://h:65536',
  'http://h:0',
  'http://h:',
  'http://h:8a',
  'http://u@/x',
  'http://u:@h',
  'http://:p@h',
  'http://a@b@c/',
  ' http://h/ ',
  'ht\ntp://h',
  'http://h/a\tb',
  'http://h/%2e%2E/a/%2e',
  'http://h/a/b/..',
  'http://h/a/b/.',
  'http://h/..//x',
  'http://h?x',
  'http://h#x',
  'http://h?#',
  'http://h/`{}|\\',
  'javascript:alert(1)',
  'http://h/\u{1f600}?\u{1f600}#\u{1f600}',
  'http://xn--mnchen-3ya.de',
  'http://a..b',
  'http://a.',
  'http://h/%zz%4',
  'non-special://[::1]/x',
  'a1+.-:x',
];

const relative = [
  '',
  '.',
  '..',
  '../x',
  './x/',
  '/y',
  '//other/z',
  '?q=1',
  '#f',
  'x?y#z',
  '\\w',
  'https:z',
  'http:z',
  'http://new',
  'a:b',
  'mailto:x',
];

const bases = ['http://u:p@h:81/a/b/c?q#f', 'https://h', 'file:///a/b', 'foo://h/a/b', 'foo:/a/b'];

describe('[abi 3.6] URL in a module', () => {
  it.each(whole)('reads %j as the engine does', (text) => {
    expect(shown(() => new ours.URL(text))).toEqual(shown(() => new URL(text)));
    expect(ours.URL.canParse(text)).toBe(URL.canParse(text));
  });

  it.each(bases)('reads relative ones against %s as the engine does', (base) => {
    for (const text of relative) {
      const theirs = shown(() => new URL(text, base));
      expect([text, shown(() => new ours.URL(text, base))]).toEqual([text, theirs]);
    }
  });

  it('keeps to the standard where engines differ', () => {
    expect(new ours.URL('http://h/a^b').pathname).toBe('/a%5Eb');
    expect(ours.URL.canParse('x', 'mailto:x')).toBe(false);
    expect(new ours.URL('#f', 'mailto:x').href).toBe('mailto:x#f');
    expect(ours.URL.parse('x')).toBeNull();
  });

  it('is changed by its parts as the engine changes it', () => {
    const changes: [keyof Url, string][] = [
      ['hash', '#a b'],
      ['hash', ''],
      ['search', '?x=1&y= 2'],
      ['search', ''],
      ['pathname', '/a/../b c?d'],
      ['port', '8080'],
      ['port', '443'],
      ['port', 'x'],
      ['host', 'new.example:99'],
      ['hostname', 'Other.example'],
      ['hostname', ''],
      ['username', 'a:b@c'],
      ['password', 'x/y'],
      ['protocol', 'http'],
      ['protocol', 'foo:'],
      ['host', 'a b'],
      ['href', 'https://again.example/?z'],
    ];
    const [mine, theirs] = [new ours.URL('https://h/x?a=1#b'), new URL('https://h/x?a=1#b')];
    for (const [part, text] of changes) {
      (mine as Url)[part] = text;
      (theirs as unknown as Url)[part] = text;
      expect([part, text, shown(() => mine)]).toEqual([part, text, shown(() => theirs)]);
    }
    for (const url of [mine, theirs]) {
      url.searchParams.append('k', 'v w');
      url.searchParams.delete('z');
    }
    expect(mine.href).toBe(theirs.href);
    expect(JSON.stringify({ mine })).toBe(JSON.stringify({ mine: theirs }));
    expect(() => {
      mine.href = 'no url';
    }).toThrow(TypeError);
  });
});

describe('[abi 3.6] URLSearchParams in a module', () => {
  it.each(['a=1&b=2&a=3', '?x=%20+&y', '=&&=1', 'ü=%C3%BC&%zz=1', ''])('reads %j', (text) => {
    const [mine, theirs] = [new ours.URLSearchParams(text), new URLSearchParams(text)];
    expect([...mine]).toEqual([...theirs]);
    expect(String(mine)).toBe(String(theirs));
    expect([mine.get('a'), mine.getAll('a'), mine.has('b', '2'), mine.size]).toEqual([
      theirs.get('a'),
      theirs.getAll('a'),
      theirs.has('b', '2'),
      [...theirs].length,
    ]);
    for (const params of [mine, theirs]) {
      params.set('a', '~ *\'"é\u{1f600}');
      params.append('0', 'x');
      params.sort();
    }
    expect(String(mine)).toBe(String(theirs));
  });

  it('is put together once, however many parameters of a URL are appended', () => {
    const url = new ours.URL('https://a.example/?x=1#f');
    const texts = vi.spyOn(ours.URLSearchParams.prototype, 'toString');
    try {
      const model = new URL('https://a.example/?x=1#f');
      for (let at = 0; at < 1_000; at++) {
        for (const { searchParams } of [url, model]) searchParams.append(`k${at}`, `${at} ü`);
      }
      expect(texts).not.toHaveBeenCalled();
      expect(url.href).toBe(model.href);
      expect(url.search).toBe(model.search);
      expect(texts).toHaveBeenCalledTimes(1);
    } finally {
      texts.mockRestore();
    }
  });

  it('changes the URL, and is changed by it', () => {
    const steps: readonly ((url: URL) => void)[] = [
      (url) => url.searchParams.append('a', '1'),
      (url) => {
        url.search = '?b=2';
      },
      (url) => url.searchParams.set('b', '3'),
      (url) => {
        url.pathname = '/p';
      },
      (url) => url.searchParams.delete('b'),
      (url) => url.searchParams.append('c', '4'),
      (url) => {
        url.href = 'https://b.example/?d=5';
      },
      (url) => url.searchParams.append('a', '1'),
      (url) => url.searchParams.sort(),
    ];
    for (let count = 1; count <= steps.length; count++) {
      const [mine, theirs] = [new ours.URL('https://a.example'), new URL('https://a.example')];
      for (const step of steps.slice(0, count)) for (const url of [mine, theirs]) step(url as URL);
      expect(String(mine)).toBe(String(theirs));
      expect([...mine.searchParams]).toEqual([...theirs.searchParams]);
    }
  });

  it('takes pairs and records', () => {
    expect(String(new ours.URLSearchParams({ a: 'b c', d: 'e' }))).toBe('a=b+c&d=e');
    expect(String(new ours.URLSearchParams([['a', 'b']]))).toBe('a=b');
    expect(() => new ours.URLSearchParams([['a']] as never)).toThrow(TypeError);
  });
});

describe('[abi 3.6] structuredClone, atob and btoa in a module', () => {
  it('copies data, with what it shares', () => {
    const shared = { at: new Date(5), list: [1, 3n] };
    const value = {
      shared,
      again: shared,
      map: new Map([[shared, new Set([1])]]),
      bytes: new Uint8Array([1, 2, 3]).subarray(1),
      error: new RangeError('far', { cause: shared }),
      pattern: /a+/gi,
    };
    const copy = ours.structuredClone(value);
    expect(inspect(copy)).toBe(inspect(structuredClone(value)));
    expect(copy.shared).toBe(copy.again);
    expect(copy.shared).not.toBe(shared);
    expect(copy.error).toBeInstanceOf(RangeError);
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const round = ours.structuredClone(circle);
    expect(round.self).toBe(round);
    const own = ours.structuredClone(JSON.parse('{"__proto__": 1}'));
    expect(Object.keys(own)).toEqual(['__proto__']);
  });

  it.each([[() => 1], [Symbol('x')], [Promise.resolve()], [{ deep: [() => 1] }]])(
    'refuses %s',
    (value) => {
      expect(() => ours.structuredClone(value)).toThrow('could not be cloned');
    },
  );

  it('codes Base64 as the engine does', () => {
    for (const text of ['', 'a', 'ab', 'abc', 'abcd', '\0\xff\x80', 'x'.repeat(1000)]) {
      expect(ours.btoa(text)).toBe(btoa(text));
      expect(ours.atob(btoa(text))).toBe(text);
    }
    for (const text of ['YQ', ' Y Q = = ', 'YWI=']) expect(ours.atob(text)).toBe(atob(text));
    for (const text of ['Y', 'YQ=', '=', 'Y*==', 'YWI==']) {
      expect(() => atob(text)).toThrow();
      expect(() => ours.atob(text)).toThrow('cannot be converted');
    }
    expect(() => ours.btoa('\u0100')).toThrow('cannot be converted');
  });
});

describe('[abi 3.6] hosts of URLs that are set', () => {
  const set = (urlClass: new (text: string) => { host: string }, text: string): string => {
    const url = new urlClass('https://a.example');
    url.host = text;
    return url.host;
  };

  it('end where a path, a query or a fragment begins', () => {
    for (const text of ['b.example/c', 'b.example?c', 'b\n.example#c', '/\n/', 'b/\nc', 'b:1/2']) {
      expect(set(ours.URL, text)).toBe(set(URL as never, text));
    }
  });

  it('are read in time that grows with their length alone', () => {
    const since = performance.now();
    expect(set(ours.URL, `${'/'.repeat(200_000)}\n`)).toBe('a.example');
    expect(performance.now() - since).toBeLessThan(2_000);
  });
});
