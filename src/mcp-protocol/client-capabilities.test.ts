import { expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import { capabilitiesIn, sessionIdFor } from './client-capabilities.ts';
import { jsonText } from './json-text.ts';

it.each([
  ['{"elicitation":{}}', '{"elicitation":{}}'],
  ['{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true}}', undefined],
  ['{"elicitation":{"url":{"more":1},"else":{}}}', '{"elicitation":{"url":{}}}'],
  ['{"sampling":{"tools":{}},"experimental":{}}', '{"sampling":{"tools":{}}}'],
])('[mcp B3] the id of a session keeps what the client can be asked for: %s', (given, kept) => {
  const id = sessionIdFor(parseJson(given)) ?? '';
  expect(id).toMatch(/^[a-z.-]+\.[0-9a-f-]{36}$/);
  const expected = kept ?? '{"elicitation":{"form":{},"url":{}},"roots":{}}';
  expect(jsonText(capabilitiesIn(id))).toBe(expected);
});

it.each([undefined, '', 'x', 'constructor.x', '5f0c2b1e-9a5d', 'Elicitation', '.'])(
  '[mcp B3] another id says nothing: %j',
  (id) => {
    expect(capabilitiesIn(id)).toBeUndefined();
  },
);

it.each(['{}', 'null', '5', '{"tools":{}}', '{"Elicitation":{}}'])(
  '[mcp B3] a client that cannot be asked has no session: %s',
  (capabilities) => {
    expect(sessionIdFor(parseJson(capabilities))).toBeUndefined();
  },
);
