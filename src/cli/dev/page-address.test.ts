import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pageAddress } from './page-address.ts';

describe('[console 3.1] the address of a page in the output of a program', () => {
  it.each([
    ['  ➜  Local:   http://localhost:5173/', 'http://localhost:5173/'],
    ['- Local:        http://localhost:3000', 'http://localhost:3000'],
    ['open http://127.0.0.1:8080/app?a=1.', 'http://127.0.0.1:8080/app?a=1'],
    ['see (http://[::1]:80/x), then', 'http://[::1]:80/x'],
    ['at https://localhost: ready', 'https://localhost'],
    ['http://127.0.0.1:99999/ http://127.0.0.1:3001, here', 'http://127.0.0.1:3001'],
    ['http://localhost.example/ http://localhost:3@evil.example', undefined],
    ['http://127.0.0.1:300000', undefined],
    ['nothing', undefined],
  ])('%j: %s', (line, address) => {
    expect(pageAddress(line)).toBe(address);
  });

  it('is found in what the template node prints', () => {
    const source = readFileSync(
      new URL('../../../templates/node/src/main.ts', import.meta.url),
      'utf8',
    );
    const [, text = ''] = /console\.log\(`(Connected to [^`]*)`\)/.exec(source) ?? [];
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholders of the source.
    const line = text.replace('${database}', 'app').replace('${url}', 'http://127.0.0.1:3001');
    expect(line).toContain('http://127.0.0.1:3001.');
    expect(pageAddress(line)).toBe('http://127.0.0.1:3001');
  });
});
