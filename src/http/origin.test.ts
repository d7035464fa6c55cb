import { expect, it } from 'vitest';
import type { PageRules } from '../auth/page-rules.ts';
import { checkOrigin } from './origin.ts';

/** Returns `refused`, or the origin that can read the response; `program` if no page asks. */
function verdict(
  localAddress: string,
  headers: Readonly<Record<string, string>>,
  rules: PageRules = { hosts: [], origins: [] },
): string {
  const header = (name: string) => headers[name];
  const answer = checkOrigin({ method: 'POST', header, localAddress }, rules);
  if (answer.kind === 'refused') return JSON.parse(String(answer.reply.body)).error.message;
  return answer.headers['access-control-allow-origin'] ?? 'program';
}

it.each(['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])(
  '[mcp B9] a connection that arrived at %s is from this machine',
  (address) => {
    expect(verdict(address, { host: 'db.example.com' })).toBe('Host not allowed');
    expect(verdict(address, {})).toBe('Host not allowed');
    expect(verdict(address, { host: 'localhost:3000' })).toBe('program');
    const page = (origin: string) => verdict(address, { host: '[::1]:3000', origin });
    for (const origin of ['http://localhost:5173', 'https://[::1]', 'tauri://localhost']) {
      expect(page(origin)).toBe(origin);
    }
    for (const origin of ['null', 'localhost', '//localhost', 'http://localhost/', 'file://']) {
      expect(page(origin)).toBe('Origin not allowed');
    }
  },
);

it.each(['192.168.0.7', '10.127.0.0', 'fd00::1', '::ffff:10.0.0.1', ''])(
  '[mcp B9] through %s others come in: any host, and pages of that host',
  (address) => {
    expect(verdict(address, { host: 'db.example.com' })).toBe('program');
    const page = (origin: string, host = 'DB.example.com:3000') =>
      verdict(address, { host, origin });
    expect(page('http://db.example.com:3000')).toBe('http://db.example.com:3000');
    expect(page('https://db.example.com:3000')).toBe('https://db.example.com:3000');
    expect(page('http://db.example.com')).toBe('Origin not allowed');
    expect(page('http://db.example.com:3000/path')).toBe('Origin not allowed');
    expect(page('ftp://db.example.com:3000')).toBe('Origin not allowed');
    expect(page('http://localhost')).toBe('Origin not allowed');
    expect(page('null')).toBe('Origin not allowed');
    expect(page('null', '')).toBe('Origin not allowed');
  },
);

it('[mcp B9] what was configured passes everywhere', () => {
  const rules = { hosts: ['db.example.com'], origins: ['https://app.example.com', 'null'] };
  for (const address of ['127.0.0.1', '192.168.0.7']) {
    for (const origin of rules.origins) {
      expect(verdict(address, { host: 'db.example.com', origin }, rules)).toBe(origin);
    }
  }
});
