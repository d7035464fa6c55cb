import { describe, expect, it } from 'vitest';
import { compressionOf } from './compression.ts';
import { chooseSubprotocol, subprotocolOffers } from './versions.ts';

describe('[websocket 2] the subprotocol', () => {
  it.each([
    ['v2.bsatn.spacetimedb, v3.bsatn.spacetimedb', 'v3.bsatn.spacetimedb'],
    ['v1.json.spacetimedb,v1.bsatn.spacetimedb', 'v1.bsatn.spacetimedb'],
    ['chat, v1.json.spacetimedb', 'v1.json.spacetimedb'],
    ['v2.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
    ['V2.bsatn.spacetimedb', undefined],
    ['', undefined],
  ])('of the offers "%s" is %s', (header, chosen) => {
    expect(chooseSubprotocol(subprotocolOffers(header))).toBe(chosen);
  });
});

describe('[websocket 4] the compression tag', () => {
  it('is one of three', () => {
    expect([0, 1, 2, 3, 255].map(compressionOf)).toEqual([
      'none',
      'brotli',
      'gzip',
      undefined,
      undefined,
    ]);
  });
});
