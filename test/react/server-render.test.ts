import { createElement, Suspense } from 'react';
import { renderToString } from 'react-dom/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Client, preload, type Snapshot } from '../../src/client/index.ts';
import {
  createHooks,
  ReducerDBProvider,
  useConnection,
  useOnline,
  usePendingCalls,
  useTable,
} from '../../src/react/index.ts';
import { DbConnection, tables } from '../client/bindings/index.ts';
import { hero, liveRig, makeRig, settled, tableRows } from '../client/rig.ts';
import type * as tavern from '../client/tavern.ts';
import { during, Screen } from './screen.ts';

const { Provider, useConnectionState, useQuery, useSuspenseQuery } = createHooks<typeof tavern>();

/** Without the marks that React puts between texts. */
const textOf = (html: string) => html.replace(/<[^>]*>/g, '');

/** A page that a server has rendered, and the snapshot that it sends along. */
async function rendered() {
  const { client, socket } = await liveRig();
  const loading = preload(client, { heroes: (q) => q.hero });
  await settled();
  await socket.apply(0, tableRows('hero', hero(1), hero(2)));
  const snapshot: Snapshot = JSON.parse(JSON.stringify(await loading));
  const Heroes = () => {
    const { rows, isReady, isStale } = useQuery((q) => q.hero, { sort: (a, b) => a.id - b.id });
    return `${rows.map(({ nick }) => nick).join(' ')} ${isReady} ${isStale}`;
  };
  const page = (shown: Client<typeof tavern>) =>
    createElement(Provider, { client: shown }, createElement(Heroes));
  return { html: renderToString(page(client)), page, snapshot };
}

describe('rendering on a server', () => {
  it('[client-sdk 17] shows what the client has, and asks for nothing', async () => {
    const { client, socket } = await liveRig();
    const heroes = client.watch((q) => q.hero);
    heroes.subscribe(() => {});
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    const frames = socket.frameCount;
    const Page = () => {
      const { rows, isReady } = useQuery((q) => q.hero);
      const { kind } = useConnectionState();
      const isBusy = usePendingCalls().length > 0;
      return [
        rows[0]?.nick,
        isReady,
        useQuery((q) => q.shout).isReady,
        kind,
        useOnline(),
        isBusy,
      ].join();
    };
    const html = renderToString(createElement(Provider, { client }, createElement(Page)));
    expect(textOf(html)).toBe('hero 1,true,false,connecting,true,false');
    await settled();
    expect(socket.frameCount).toBe(frames);
  });

  it('[client-sdk 17] shows the fallback for rows that are not there', () => {
    const { client } = makeRig();
    const Heroes = () => useSuspenseQuery((q) => q.hero).length;
    const page = createElement(Suspense, { fallback: 'soon' }, createElement(Heroes));
    expect(textOf(renderToString(createElement(Provider, { client }, page)))).toBe('soon');
  });

  it('[client-sdk 17] is taken over by the page, which then shows what has changed', async () => {
    for (const isLate of [false, true]) {
      const server = await rendered();
      const rig = makeRig({ snapshot: server.snapshot });
      const early = rig.client.watch((q) => q.hero);
      if (isLate) early.subscribe(() => {});
      await settled();
      await rig.socket.open();
      await rig.socket.welcome();
      const live = () =>
        rig.socket.apply(0, tableRows('hero', hero(2), hero(1, { nick: 'Ada' }), hero(3)));
      // A part of a page may come to life when others have long been live.
      if (isLate) await live();
      const screen = await Screen.over(server.html, server.page(rig.client));
      onTestFinished(() => screen.leave());
      expect(screen.complaints).toEqual([]);
      if (!isLate) {
        expect(screen.text).toBe('hero 1 hero 2 true true');
        await during(live);
      }
      expect(screen.text).toBe('Ada hero 2 hero 3 true false');
    }
  });

  it('[client-sdk 17] may be handed over with a query', async () => {
    const { snapshot } = await rendered();
    const rig = await liveRig();
    const lines: string[] = [];
    const Heroes = () => {
      const { rows, isStale } = useQuery((q) => q.hero, {
        initial: snapshot,
        onInsert: ({ nick }) => lines.push(`+ ${nick}`),
        onDelete: ({ nick }) => lines.push(`- ${nick}`),
      });
      return `${rows.map(({ nick }) => nick).join(' ')} ${isStale}`;
    };
    const page = createElement(Provider, { client: rig.client }, createElement(Heroes));
    const screen = await Screen.strict(page);
    onTestFinished(() => screen.leave());
    expect(screen.text).toBe('hero 1 hero 2 true');
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1), hero(3))));
    expect([screen.text, lines]).toEqual(['hero 1 hero 3 false', ['- hero 2', '+ hero 3']]);
  });

  it('[client-sdk 9] connects to nothing, and has no rows', async () => {
    const opened: unknown[] = [];
    const connectionBuilder = DbConnection.builder()
      .withUri('ws://test')
      .withDatabaseName('rendered')
      .withWSFn(async (args) => {
        opened.push(args);
        throw new Error('no sockets here');
      });
    const Page = () => {
      const { isActive, getConnection } = useConnection();
      return JSON.stringify([isActive, getConnection(), ...useTable(tables.hero)]);
    };
    const page = createElement(ReducerDBProvider, { connectionBuilder }, createElement(Page));
    expect(textOf(renderToString(page))).toBe('[false,null,[],false]');
    await settled();
    expect(opened).toEqual([]);
  });
});
