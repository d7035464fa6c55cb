import { useEffect, useState } from 'react';
import type { Timestamp } from 'reducerdb/client';

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

interface Props {
  readonly at: Timestamp;
  /** A time that is still to come. Others never are, whatever the clocks say. */
  readonly isAhead?: boolean;
}

/** A time as seen from now: `5 minutes ago`, `in 3 days`. The whole time is its title. */
export function Time({ at, isAhead = false }: Props) {
  const date = at.toDate();
  const away = date.getTime() - useNow();
  const millis = isAhead ? Math.max(away, 0) : Math.min(away, 0);
  const [unit, length] = units.find(([, each]) => Math.abs(millis) >= each) ?? units[3];
  const isNow = !isAhead && millis > -45_000;
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {isNow ? 'just now' : format.format(Math.round(millis / length), unit)}
    </time>
  );
}

/** Moves on once in ten seconds. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
