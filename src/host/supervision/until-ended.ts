import type { SeatEvents } from '../seats/seat.ts';
import type { LifeOwner } from './life-state.ts';

/**
 * Filters the events of one seat: once it has ended, only reports about it are passed on. What a
 * copy that follows another host hands over, before there is an actor, is for `followed`.
 */
export function untilEnded({
  followed,
  lines,
  warn,
  ended,
  role,
  readable,
  hasFetched,
  ...others
}: SeatEvents & Pick<LifeOwner, 'followed'>): SeatEvents {
  let isPast = false;
  let hasOpened = false;
  const guard =
    <Args extends unknown[]>(handle: (...args: Args) => void) =>
    (...args: Args): void => {
      if (!isPast) handle(...args);
    };
  return {
    lines,
    warn,
    hasRead: guard(others.hasRead),
    links: guard(others.links),
    opened: guard((opening) => {
      hasOpened = true;
      others.opened(opening);
    }),
    handOver: guard((turn) => {
      if (hasOpened) others.handOver(turn);
      else followed(turn);
    }),
    durable: guard(others.durable),
    memory: guard(others.memory),
    ...(hasFetched !== undefined && { hasFetched: guard(hasFetched) }),
    ...(role !== undefined && { role: guard(role) }),
    ...(readable !== undefined && { readable: guard(readable) }),
    ended: guard((end) => {
      isPast = true;
      ended(end);
    }),
  };
}
