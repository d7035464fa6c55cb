import { expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { ToolFailure } from './tool.ts';
import { WaitPlaces } from './wait-places.ts';

const { agentWaitsMax, callerWaitsMax } = limits;

it('[ease 4.9] a caller has few waits at once, and the place of one that ended', () => {
  const places = new WaitPlaces();
  const frees = Array.from({ length: callerWaitsMax }, () => places.take('ann'));
  expect(() => places.take('ann')).toThrow(
    new ToolFailure(`${callerWaitsMax} waits of yours are running; end one, or let one end`),
  );
  places.take('bob');
  frees[0]?.();
  places.take('ann');
  expect(() => places.take('ann')).toThrow(ToolFailure);
});

it('[ease 4.9] all callers together have a limited number of waits', () => {
  const places = new WaitPlaces();
  const frees = Array.from({ length: agentWaitsMax }, (_, at) => places.take(`caller ${at}`));
  expect(() => places.take('one more')).toThrow('too many waits of all callers are running');
  for (const free of frees) free();
  places.take('one more');
});
