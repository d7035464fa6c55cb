import type { MakeAlarm } from '../database/alarm.ts';
import type { Clock } from '../database/clock.ts';
import { limits } from '../limits.ts';

/**
 * Makes alarms that ring by a clock. However far their time is, they ring every few seconds: the
 * clock may be set meanwhile, and a timer of the platform cannot wait for longer than 24 days.
 */
export function machineAlarms(clock: Pick<Clock, 'nowMicros'>): MakeAlarm {
  return (ring) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      timer = undefined;
    };
    const begin = (atMicros: bigint): void => {
      stop();
      const micros = atMicros - clock.nowMicros();
      const isFar = micros > BigInt(limits.alarmMillisMax) * 1_000n;
      const millis = isFar ? limits.alarmMillisMax : Math.max(0, Math.ceil(Number(micros) / 1_000));
      timer = setTimeout(() => {
        timer = undefined;
        // The actor need not set it again when it was rung too early.
        if (clock.nowMicros() < atMicros) begin(atMicros);
        ring();
      }, millis);
      timer.unref();
    };
    return {
      set(atMicros) {
        stop();
        if (atMicros !== undefined) begin(atMicros);
      },
      dispose: stop,
    };
  };
}
