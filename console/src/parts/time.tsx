import { useEffect } from 'react';
import { Store, useStore } from '../service/store.ts';
import { agoText, localTime } from './times.ts';

/** One clock for all that is shown as "some time ago". */
const clock = new Store(Date.now());
let listeners = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const tickMillis = 1_000;

function useNow(): number {
  useEffect(() => {
    listeners += 1;
    timer ??= setInterval(() => clock.set(Date.now()), tickMillis);
    return () => {
      listeners -= 1;
      if (listeners > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useStore(clock);
}

/** How long ago; its title has the whole time, local and UTC. */
export function Ago({ time }: { readonly time: string | number }) {
  const now = useNow();
  const millis = new Date(time).getTime();
  if (Number.isNaN(millis)) return <span>{String(time)}</span>;
  const utc = new Date(millis).toISOString();
  return (
    <time dateTime={utc} title={`${localTime(millis)} local · ${utc} UTC`}>
      {agoText(millis, Math.max(now, millis))}
    </time>
  );
}

/** A time of the browser's zone; its title has the time in UTC. */
export function Time({ time }: { readonly time: string | number }) {
  const millis = new Date(time).getTime();
  if (Number.isNaN(millis)) return <span>{String(time)}</span>;
  const utc = new Date(millis).toISOString();
  return (
    <time dateTime={utc} title={`${utc} UTC`}>
      {localTime(millis)}
    </time>
  );
}

/** How long until something is due, or since it was, with the whole time. */
export function Due({ time }: { readonly time: number }) {
  const now = useNow();
  const utc = new Date(time).toISOString();
  return (
    <time dateTime={utc} title={`${localTime(time)} local · ${utc} UTC`}>
      {agoText(time, now)}
    </time>
  );
}
