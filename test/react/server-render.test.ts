import { createElement, Suspense } from 'react';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
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

const { Provider, useConnectionState, useQuery, useSuspenseQuery } = createHooks<typeof tavern>();

/** Without the marks that React puts between texts. */
const textOf = (html: string) => html.replace(/<[^>]*>/g, '');

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
