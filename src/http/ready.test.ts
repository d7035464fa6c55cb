import { expect, it } from 'vitest';
import { readiness } from './ready.ts';

it('[living 1.16] a service is ready until it stops', () => {
  const stopping = new AbortController();
  expect(readiness(stopping.signal)).toMatchObject({ status: 200, body: '{"ready":true}' });
  stopping.abort();
  expect(readiness(stopping.signal)).toMatchObject({
    status: 503,
    body: '{"ready":false,"reason":"stopping"}',
    headers: { 'retry-after': '1' },
  });
});
