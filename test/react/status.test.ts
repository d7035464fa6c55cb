import { createElement, type ReactNode } from 'react';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createHooks,
  useConnectionState,
  useOnline,
  usePendingCalls,
} from '../../src/react/index.ts';
import { liveRig, makeRig, type Rig, settled } from '../client/rig.ts';
import type * as tavern from '../client/tavern.ts';
import { during, Screen } from './screen.ts';

const hooks = createHooks<typeof tavern>();

async function screenOf(rig: Rig, Shown: () => ReactNode): Promise<Screen> {
  const inner = createElement(Shown);
  const screen = await Screen.strict(createElement(hooks.Provider, { client: rig.client }, inner));
  onTestFinished(() => screen.leave());
  await during(settled);
  return screen;
}

describe('the state of the connection', () => {
  it('[client-sdk 19] is the same under both kinds of hooks, and one object until it changes', async () => {
    const rig = makeRig();
    const seen = new Set<unknown>();
    const screen = await screenOf(rig, () => {
      const state = useConnectionState();
      seen.add(state).add(hooks.useConnectionState());
      return `${state.kind} ${state.offline}`;
    });
    expect(screen.text).toBe('connecting false');
    await during(() => rig.socket.open());
    await during(() => rig.socket.welcome());
    expect(screen.text).toBe('live false');
    rig.platform.online = false;
    await during(() => rig.socket.drop());
    expect(screen.text).toBe('waiting true');
    await during(() => rig.client.disconnect());
    expect(screen.text).toBe('closed false');
    expect(seen.size).toBe(4);
  });

  it('[client-sdk 19] shows the calls that wait, in order', async () => {
    const rig = await liveRig();
    const screen = await screenOf(rig, () =>
      usePendingCalls()
        .map(({ name }) => name)
        .join(),
    );
    expect(screen.text).toBe('');
    let ends: Promise<PromiseSettledResult<void>[]> | undefined;
    await during(() => {
      const { say, ping } = rig.client.reducers;
      ends = Promise.allSettled([say({ room: 'hall', text: 'hi' }), ping()]);
      return settled();
    });
    expect(screen.text).toBe('say,ping');
    const [{ requestId = -1 } = {}] = rig.socket.of('callReducer');
    const outcome = { kind: 'okEmpty' } as const;
    await during(() => {
      return rig.socket.send({ kind: 'reducerResult', requestId, timestamp: 5n, outcome });
    });
    expect(screen.text).toBe('ping');
    await during(() => rig.client.disconnect());
    expect(screen.text).toBe('');
    expect((await ends)?.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});

describe('useOnline', () => {
  it('[client-sdk 19] tells of losses that last, and of the way back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const rig = await liveRig();
    const lines: string[] = [];
    const screen = await screenOf(rig, () => {
      const isOnline = useOnline({
        onLost: () => lines.push('lost'),
        onBack: () => lines.push('back'),
        graceMillis: 500,
      });
      return String(isOnline);
    });
    const wait = (millis: number) => during(() => vi.advanceTimersByTimeAsync(millis));
    const comeBack = async () => {
      await during(() => rig.platform.advance(60_000));
      await during(() => rig.socket.open());
      await during(() => rig.socket.welcome());
    };
    await during(() => rig.socket.drop());
    await wait(499);
    expect([screen.text, lines]).toEqual(['true', []]);
    await comeBack();
    await wait(1_000);
    expect([screen.text, lines]).toEqual(['true', []]);
    await during(() => rig.socket.drop());
    await wait(400);
    // An attempt is no way back, and its end does not begin the time anew.
    await during(() => rig.platform.advance(60_000));
    await during(() => rig.socket.drop());
    await wait(100);
    expect([screen.text, lines]).toEqual(['false', ['lost']]);
    await comeBack();
    expect([screen.text, lines]).toEqual(['true', ['lost', 'back']]);
  });

  it('[client-sdk 19] takes the first attempt to connect for no loss', async () => {
    const rig = makeRig();
    const screen = await screenOf(rig, () => String(useOnline({ graceMillis: 0 })));
    await during(() => new Promise((resolve) => setTimeout(resolve, 5)));
    expect(screen.text).toBe('true');
    await during(() => rig.socket.drop());
    await during(() => new Promise((resolve) => setTimeout(resolve, 5)));
    expect(screen.text).toBe('false');
  });
});
