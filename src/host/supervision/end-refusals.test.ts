import { expect, it } from 'vitest';
import { programRefusal } from '../seats/program-refusal.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';
import { notStartedRefusal } from './end-refusals.ts';

const create: SeatMode = {
  kind: 'create',
  program: { kind: 'js', bytes: new Uint8Array() },
  createdMicros: 1n,
};

const ended = (cause: SeatEnd['cause']): SeatEnd => ({
  cause,
  message: 'The worker took no message for 10000 ms outside of any call.',
  running: undefined,
  reached: () => false,
});

it('does not call a program invalid that the service could not try', () => {
  for (const refusal of [
    programRefusal(ended('silent')),
    notStartedRefusal(ended('silent'), create),
  ]) {
    expect(refusal.body).toEqual({
      code: 'database.stopped',
      message: expect.stringMatching(
        /^The service could not try .* of any call\. Publish it again\.$/,
      ),
    });
  }
  expect(programRefusal(ended('budget')).body.code).toBe('program.invalid');
  expect(notStartedRefusal(ended('died'), create).body.code).toBe('program.invalid');
});
