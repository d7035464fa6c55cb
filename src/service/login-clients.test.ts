import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { completeConfiguration } from './configuration.ts';
import { effectiveSettings, settingsInForce } from './effective-settings.ts';
import { loginClientsOf } from './login-clients.ts';

const dataDirectory = mkdtempSync(path.join(tmpdir(), 'reducerdb-clients-'));
afterAll(() => rmSync(dataDirectory, { recursive: true }));

const one = 'https://one.example';
const other = 'https://other.example:8443/realm';

function read(file: string, flags: Record<string, unknown> = {}) {
  writeFileSync(path.join(dataDirectory, 'config.toml'), file);
  return effectiveSettings({ flags, environment: {}, dataDirectory, folder: '/' });
}

describe('[http 17.7] clients for logins', () => {
  it('are read from the file and from flags, with secrets of any characters', () => {
    const file =
      `[auth.login-clients]\n"${one}" = "id"\n"${other}" = "id 2"\n` +
      `[auth.login-secrets]\n"${one}" = "a,b=c=="\n`;
    expect(loginClientsOf(completeConfiguration(read(file).configuration))).toEqual([
      { issuer: one, clientId: 'id', clientSecret: 'a,b=c==' },
      { issuer: other, clientId: 'id 2' },
    ]);
    const flags = { 'login-client': [`${one}=id`], 'login-secret': [`${one}=c2VjcmV0==`] };
    expect(loginClientsOf(completeConfiguration(read('', flags).configuration))).toEqual([
      { issuer: one, clientId: 'id', clientSecret: 'c2VjcmV0==' },
    ]);
  });

  it('[http 17.2] have secrets that no operator sees', () => {
    const file = `[auth.login-clients]\n"${one}" = "id"\n[auth.login-secrets]\n"${one}" = "hush"\n`;
    const shown = settingsInForce(read(file).settings);
    const of = (key: string) => shown.find(({ name }) => name === key);
    expect(of('auth.login-clients')?.value).toEqual({ [one]: 'id' });
    expect(of('auth.login-secrets')?.value).toEqual({ [one]: '‹hidden›' });
    const flags = { 'login-client': [`${one}=id`], 'login-secret': [`${one}=hush`] };
    expect(JSON.stringify(settingsInForce(read('', flags).settings))).not.toContain('hush');
  });
});
