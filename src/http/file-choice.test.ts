import { describe, expect, it } from 'vitest';
import { ServedSite } from '../host/sites/served-site.ts';
import { carriesHash, chooseFile } from './file-choice.ts';

const hash = '0'.repeat(64);
const siteOf = (...paths: string[]) => {
  const files = paths.map((path) => ({ path, hash, bytes: 1 }));
  const earlier = [{ path: '/old.js', hash, bytes: 1, untilMillis: 100 }];
  return new ServedSite('id', { files, headers: '' }, earlier);
};

const app = siteOf('/index.html', '/a.js', '/docs/index.html', '/ä ö.txt', '/100%.txt');
const pages = siteOf('/index.html', '/404.html');

/** What a path leads to: the path of a file after its status, or `folder` or `none`. */
function found(site: ServedSite, path: string, isPage = false, nowMillis = 99): string {
  const choice = chooseFile(site, path, { wantsPage: isPage, nowMillis });
  return choice.kind === 'file' ? `${choice.status} ${choice.file.path}` : choice.kind;
}

describe('[living 3.4] a path', () => {
  it.each([
    ['/', '200 /index.html'],
    ['/index.html', '200 /index.html'],
    ['/a.js', '200 /a.js'],
    ['/%61.js', '200 /a.js'],
    ['/docs', 'folder'],
    ['/docs/', '200 /docs/index.html'],
    ['/%C3%A4%20%C3%B6.txt', '200 /ä ö.txt'],
    ['/100%25.txt', '200 /100%.txt'],
    ['/100%.txt', '200 /100%.txt'],
    ['/old.js', '200 /old.js'],
    ['/A.js', 'none'],
    ['/a.js/', 'none'],
    ['/route', 'none'],
  ])('%s leads to %s', (path, answer) => {
    expect(found(app, path)).toBe(answer);
  });

  it('of a route leads to the page, for who asks for one', () => {
    expect(found(app, '/route/with/parts', true)).toBe('200 /index.html');
    expect(found(app, '/route/', true)).toBe('200 /index.html');
    expect(found(app, '/missing.js', true)).toBe('none');
    expect(found(siteOf('/a.js'), '/route', true)).toBe('none');
    expect(found(pages, '/route', true)).toBe('404 /404.html');
    expect(found(pages, '/missing.png', true)).toBe('404 /404.html');
    expect(found(pages, '/route')).toBe('none');
  });

  it('of an earlier file leads there until its time is over', () => {
    expect(found(app, '/old.js', true, 100)).toBe('none');
  });

  it.each([
    '/../a.js',
    '/docs/../a.js',
    '/%2e%2e/a.js',
    '/.%2E/a.js',
    '/./a.js',
    '//a.js',
    '//evil.example/',
    '/docs//',
    '/docs%2Findex.html',
    '/docs%2findex.html',
    '/docs%5Cindex.html',
    '/docs\\index.html',
    '/a.js%00',
    '/%00',
    '/%0d%0ax',
    '/%ff',
    '/%c0%ae%c0%ae/a.js',
    `/${'a'.repeat(10_000)}`,
    '/console',
    '/console/',
    '/Console/x',
    '/v1',
    '/V1/ping',
    '/_headers',
    '/.reducerdb.json/',
  ])('that is a trick leads nowhere: %s', (path) => {
    expect(found(app, path, true)).toBe('none');
  });

  it('is matched in linear time', () => {
    for (const part of ['/', '%2e', '%', 'a/', '\\']) {
      const began = performance.now();
      found(app, `/${part.repeat(1_500)}`, true);
      expect(performance.now() - began).toBeLessThan(1_000);
    }
  });
});

it.each([
  ['/assets/index-DiwrgTda.js', true],
  ['/assets/index-B2x_9aQz.css', true],
  ['/assets/index-B2x_9aQz.js.map', true],
  ['/main.3f2a1b9c.js', true],
  ['/static/js/main.0123456789abcdef0123.chunk.js', true],
  ['/app-5WKQ7Z2V.js', true],
  ['/_astro/hoisted.Bq3hX1zK.js', true],
  ['/index.html', false],
  ['/app.js', false],
  ['/vendor-settings.js', false],
  ['/views/page-DataGrid.js', false],
  ['/shot-1920x1080.png', false],
  ['/report-20231105.pdf', false],
  ['/deadbeef.js', false],
  ['/fonts/inter-deadbeef.woff2', false],
  ['/sw.js', false],
])('[living 3.4] the name %s carries a hash: %s', (path, isHash) => {
  expect(carriesHash(path)).toBe(isHash);
});
