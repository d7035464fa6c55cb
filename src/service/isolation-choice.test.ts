import { describe, expect, it } from 'vitest';
import { completeConfiguration, type GivenConfiguration } from './configuration.ts';
import { chooseIsolation, parseIsolation, parseIsolationExceptions } from './isolation-choice.ts';

const everywhere = { host: '0.0.0.0', port: 3000 };
const choose = (given: GivenConfiguration) => chooseIsolation(completeConfiguration(given));

describe('isolation', () => {
  it.each<[string, GivenConfiguration, string]>([
    ['on loopback', {}, 'thread'],
    ['on loopback, whatever the policy', { publishPolicy: 'anyone' }, 'thread'],
    ['for anyone', { listen: everywhere, publishPolicy: 'anyone' }, 'process'],
    ['for tokens', { listen: everywhere, publishPolicy: 'authenticated' }, 'process'],
    [
      'for issuers',
      { listen: everywhere, publishPolicy: { issuers: ['https://a.example.com'] } },
      'process',
    ],
    ['for a list', { listen: everywhere, publishPolicy: { identities: [1n] } }, 'thread'],
    ['behind a proxy', { trustedProxies: ['127.0.0.1'] }, 'process'],
    ['with a public address', { publicUrl: 'https://db.example.com' }, 'process'],
    ['with an address of this machine', { publicUrl: 'http://[::1]:3000' }, 'thread'],
  ])(
    '[living 6.5, rulings 3.6] is by default what suits those who may publish: %s',
    (_, given, kind) => {
      expect(choose(given).rules.everywhere).toBe(kind);
    },
  );

  it('[living 6.1, rulings 3.6] is what the operator says, for all and for single ones', () => {
    const exceptions = parseIsolationExceptions(['shop=process', `${'c2'.repeat(32)}=thread`]);
    const { rules, reason } = choose({ isolation: { everywhere: 'thread', exceptions } });
    expect(rules).toEqual({ everywhere: 'thread', exceptions });
    expect(reason).toBe('it was set');
  });

  it('by processes is refused where the path of the data has a star', () => {
    const dataDirectory = '/srv/data*/one';
    const refusal = /contains `\*`, .* Rename the folder, or start with `--isolation thread`/;
    expect(() => choose({ dataDirectory, isolation: { everywhere: 'process' } })).toThrow(refusal);
    const exceptions = parseIsolationExceptions(['shop=process']);
    expect(() => choose({ dataDirectory, isolation: { exceptions } })).toThrow(refusal);
    expect(choose({ dataDirectory }).rules.everywhere).toBe('thread');
  });

  it('is refused with what would do', () => {
    expect(() => parseIsolation('container')).toThrow('`container` is none of thread, process');
    expect(() => parseIsolationExceptions(['shop'])).toThrow('write `shop=process`');
    expect(() => parseIsolationExceptions(['shop=vm'])).toThrow('`vm` is none of thread, process');
  });
});
