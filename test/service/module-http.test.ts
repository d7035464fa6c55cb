import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigurationError, completeConfiguration } from '../../src/service/configuration.ts';
import { effectiveSettings } from '../../src/service/effective-settings.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';
import { WaySender } from '../support/way-sender.ts';
import { Running } from './running.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** The rules for requests of modules, by a `config.toml` and flags. */
function rulesOf(file: string, flags: Readonly<Record<string, unknown>> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'module-http-'));
  folders.push(folder);
  writeFileSync(path.join(folder, 'config.toml'), file);
  const sources = { flags, environment: {}, dataDirectory: folder, folder };
  const { configuration, warnings } = effectiveSettings(sources);
  return { ...completeConfiguration(configuration).moduleHttp, warnings };
}

describe('[abi 9.2] the settings of requests', () => {
  it('are public addresses by default, and the list where it names public places', () => {
    expect(rulesOf('')).toEqual({ mode: 'public', allow: [], warnings: [] });
    const given = rulesOf('[module-http]\nallow = ["api.example.com", "shop=10.0.0.0/8:5432"]');
    expect(given).toMatchObject({ mode: 'list', allow: [{ port: undefined }, { port: 5432 }] });
    const local = '[module-http]\nallow = ["shop=127.0.0.1:4000"]';
    expect(rulesOf(local)).toMatchObject({ mode: 'public', allow: [{ port: 4000 }] });
    expect(rulesOf(local, { 'module-http-mode': 'public' })).toMatchObject({ mode: 'public' });
    expect(rulesOf(local, { 'module-http-mode': 'list' })).toMatchObject({ mode: 'list' });
    expect(rulesOf('', { 'module-http-mode': 'off' })).toMatchObject({ mode: 'off' });
    expect(rulesOf('', { 'module-http-mode': 'list' })).toMatchObject({ mode: 'list', allow: [] });
  });

  it.each([
    ['[module-http]\nmode = "on"', /module-http.mode: `on` is none of public, list, off/],
    ['[module-http]\nallow = ["10.0.0.0/8"]', /opens private addresses; name the database/],
    ['[module-http]\nallow = ["a/b"]', /`a\/b` is neither a host nor a network/],
    [
      '[module-http]\nmode = "public"\nallow = ["a.example"]',
      'names public hosts, which `--module-http-mode public` reaches anyway; use `list`',
    ],
  ])('are refused: %s', (file, text) => {
    expect(() => rulesOf(file)).toThrow(ConfigurationError);
    expect(() => rulesOf(file)).toThrow(text);
  });

  it('take the switch of a SpacetimeDB server', () => {
    const off = '[module-http]\nenabled = false\n';
    expect(rulesOf(off)).toEqual({ mode: 'off', allow: [], warnings: [] });
    const { mode, warnings } = rulesOf('[module-http]\nenabled = true\n');
    expect(mode).toBe('public');
    expect(warnings.join()).toContain('has no effect here; use `module-http.mode`.');
    // Ours wins.
    expect(rulesOf(`${off}mode = "list"`)).toMatchObject({ mode: 'list' });
    expect(rulesOf(off, { 'module-http-mode': 'list' })).toMatchObject({ mode: 'list' });
  });
});

it('[abi 9.2] a refused address is in the audit log and in the metrics', async () => {
  const running = await Running.start();
  try {
    const database = databaseIdentity(0xc200n);
    const head = {
      method: 'GET',
      headers: [],
      timeoutMicros: undefined,
      uri: 'http://169.254.169.254/latest?key=secret',
      version: 'HTTP/1.1',
    } as const;
    const { host } = running.service;
    const { signal } = new AbortController();
    const sender = new WaySender(host.outbound, database);
    const sent = () => sender.fetch(database, { head, body: new Uint8Array() }, signal);
    expect(await sent()).toEqual({
      kind: 'failed',
      message:
        'error sending request for url (http://169.254.169.254/latest): ' +
        'refusing to connect to private or special-purpose addresses',
    });
    await sent();
    const noted = async () =>
      (await host.audit.tail(10)).filter((line) => line.includes('send HTTP request'));
    // The request does not wait for its line.
    await expect.poll(noted).toHaveLength(1);
    const notes = await noted();
    expect(notes.map((line) => JSON.parse(line))).toMatchObject([
      {
        action: 'send HTTP request',
        outcome: 'refused',
        by: `${'0'.repeat(60)}c200`,
        from: 'module',
        database: `${'0'.repeat(60)}c200`,
        host: '169.254.169.254',
      },
    ]);
    expect(notes.join()).not.toContain('secret');
    const { text } = await running.ask('GET', '/v1/metrics');
    expect(text).toContain(
      `reducerdb_outbound_requests_total{database="${'0'.repeat(60)}c200",host="other",outcome="failed"} 2`,
    );
  } finally {
    await running.stop();
  }
});
