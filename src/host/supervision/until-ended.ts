import type { SeatEvents } from '../seats/seat.ts';

/** Filters the events of one seat: once it has ended, only reports about it are passed on. */
export function untilEnded({ lines, warn, ended, role, ...others }: SeatEvents): SeatEvents {
  let isPast = false;
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
    opened: guard(others.opened),
    handOver: guard(others.handOver),
    durable: guard(others.durable),
    memory: guard(others.memory),
    ...(role !== undefined && { role: guard(role) }),
    ended: guard((end) => {
      isPast = true;
      ended(end);
    }),
  };
}
