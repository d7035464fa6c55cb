import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { parseHeaderRules } from './header-rules.ts';
import { mediaTypeOf, shrinks } from './media-types.ts';
import { bytesOf, checkedSet, decodeSet, encodeSet, type SiteFile } from './site-set.ts';

const hash = 'ab'.repeat(32);
const file = (path: string, more: Partial<SiteFile> = {}) => ({ path, hash, bytes: 1, ...more });
const faultOf = (files: readonly SiteFile[], headers = '') => {
  try {
    checkedSet({ files, headers });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('[living 3.4] a set of files', () => {
  it('has one form, whatever the order', () => {
    const files = [file('/b'), file('/a', { hash: 'cd'.repeat(32), bytes: 2 }), file('/c')];
    const set = checkedSet({ files, headers: '/*\n x: y' });
    expect(encodeSet(set)).toBe(encodeSet(checkedSet({ ...set, files: files.toReversed() })));
    expect(decodeSet(encodeSet(set))).toEqual(set);
    expect(bytesOf(set)).toBe(3);
  });

  it.each([
    ['a', 'does not begin with /'],
    ['/', 'empty part'],
    ['/a//b', 'empty part'],
    ['/a/', 'empty part'],
    ['/a/../b', 'or `.` or `..`'],
    ['/.', 'or `.` or `..`'],
    ['/a\\b', 'a backslash'],
    ['/a\u0000', 'a control character'],
    ['/a\n', 'a control character'],
    ['/\ud800', 'half a character'],
    ['/v1/x', 'reserved'],
    ['/V1', 'reserved'],
    ['/console/index.html', 'reserved'],
    ['/.reducerdb.json', 'reserved'],
    ['/_headers', 'reserved'],
    [`/${'ä'.repeat(512)}`, 'longer than 1024 bytes'],
  ])('has no file `%s`', (path, words) => {
    expect(faultOf([file(path)])).toContain(words);
  });

  it('has names of all other kinds', () => {
    for (const path of [
      '/v1.js',
      '/consoles/x',
      '/.well-known/a',
      '/a b',
      '/…',
      '/a%2Fb',
      '/...',
    ]) {
      expect(faultOf([file(path)])).toBe('');
    }
  });

  it('is bounded', () => {
    const many = Array.from({ length: limits.siteFilesMax + 1 }, (_, at) => file(`/${at}`));
    expect(faultOf(many)).toBe('Static files: 10001 files; at most 10000');
    expect(faultOf(many.slice(1))).toBe('');
    const bytes = limits.siteFileBytesMax;
    expect(faultOf([file('/a', { bytes: bytes + 1 })])).toContain(`at most ${bytes}`);
    const large = [1, 2, 3, 4, 5].map((at) => file(`/${at}`, { bytes, hash: `${at}`.repeat(64) }));
    expect(faultOf(large.slice(1))).toBe('');
    expect(faultOf(large)).toContain(`at most ${limits.siteBytesMax}`);
    expect(faultOf([file('/a'), file('/a')])).toContain('stands twice');
    expect(faultOf([file('/a'), file('/b', { bytes: 2 })])).toContain('another size');
    expect(faultOf([file('/a', { hash: 'x' })])).toContain('not a SHA-256');
    for (const odd of [-1, 0.5, Number.NaN])
      expect(faultOf([file('/a', { bytes: odd })])).not.toBe('');
  });
});

describe('[living 3.4] rules of headers', () => {
  const headers = (text: string, path: string) =>
    Object.fromEntries(parseHeaderRules(text).headersFor(path));

  it('hold for paths, and are joined', () => {
    const text = `\ufeff# comment
/*
  X-Frame-Options: DENY
  Link: </a.css>; rel=preload
/assets/*
  cache-control: public, max-age=60
  Link: </b.css>; rel=preload
/users/:id/*.json
  access-control-allow-origin: *\r
/exact.html
  x-a: b:c
`;
    expect(headers(text, '/')).toEqual({
      'x-frame-options': 'DENY',
      link: '</a.css>; rel=preload',
    });
    expect(headers(text, '/assets/x/y.js')).toEqual({
      'x-frame-options': 'DENY',
      link: '</a.css>; rel=preload, </b.css>; rel=preload',
      'cache-control': 'public, max-age=60',
    });
    expect(headers(text, '/users/7/a/b.json')).toHaveProperty('access-control-allow-origin', '*');
    expect(headers(text, '/users/a.json')).not.toHaveProperty('access-control-allow-origin');
    expect(headers(text, '/exact.html')).toHaveProperty('x-a', 'b:c');
    expect(headers(text, '/exactxhtml')).not.toHaveProperty('x-a');
  });

  it.each([
    'content-security-policy',
    'Service-Worker-Allowed',
    'set-cookie',
    'Clear-Site-Data',
    'STRICT-TRANSPORT-SECURITY',
    'X-Accel-Redirect',
    'x-sendfile',
  ])('[rulings 1.1] cannot set %s', (name) => {
    const read = () => parseHeaderRules(`/*\n  x: y\n  ${name}: x`);
    expect(read).toThrow(`_headers, line 3: \`${name.toLowerCase()}\` cannot be set here`);
    expect(faultOf([], `/*\n ${name} : x`)).toContain('line 2');
  });

  it.each([
    [' x: y', 'line 1: a header stands before the first path'],
    ['/a\n  nonsense', 'line 2: `nonsense` is not a header'],
    ['/a\n  x:', 'line 2: the value of `x` is empty'],
    ['/a\n  x: ä', 'line 2: the value of `x` is empty, or not of ASCII'],
    ['/a\n  x: a\u0001b', 'line 2: the value'],
    ['/a\n  Content-Length: 1', 'line 2: `content-length` is set by the service'],
    ['a\n  x: y', 'line 1: `a` is not a path'],
    ['https://a/*\n x: y', 'line 1'],
    ['/*/*\n  x: y', 'line 1: `*` can stand once'],
    ['/a\n/b\n x: y', 'line 1: no header'],
    [`/a\n${'  x: y\n'.repeat(33)}`, 'more than 32 headers'],
    ['/a\n x: y\n'.repeat(257), 'more than 256 rules'],
    ['#'.repeat(limits.siteHeadersBytesMax + 1), 'more than 65536 bytes'],
  ])('that are wrong are refused: %j', (text, words) => {
    expect(() => parseHeaderRules(text)).toThrow(words);
  });

  it('are matched in linear time', () => {
    const rules = parseHeaderRules(`${'/:a'.repeat(200)}*${'/:b'.repeat(200)}/x\n x: y`);
    const began = performance.now();
    rules.headersFor('/a'.repeat(500));
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

it.each([
  ['/index.html', 'text/html; charset=utf-8', true],
  ['/a.MJS', 'text/javascript; charset=utf-8', true],
  ['/a.svg', 'image/svg+xml', true],
  ['/a.wasm', 'application/wasm', true],
  ['/a.ttf', 'font/ttf', true],
  ['/a.json', 'application/json', true],
  ['/a.woff2', 'font/woff2', false],
  ['/a.png', 'image/png', false],
  ['/a.mp4', 'video/mp4', false],
  ['/a.unknown', 'application/octet-stream', false],
  ['/a.b/file', 'application/octet-stream', false],
  ['/.htaccess', 'application/octet-stream', false],
])('[living 3.4] the type of %s is %s; it shrinks: %s', (path, type, isSmaller) => {
  expect([mediaTypeOf(path), shrinks(path)]).toEqual([type, isSmaller]);
});
