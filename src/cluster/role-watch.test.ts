import { beforeEach, describe, expect, it } from 'vitest';
import { spanCount } from '../database/time-counts.ts';
import type { FollowerRole } from '../host/replication/database-role.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import { bootId, hostId } from '../shared-log/host-ids.ts';
import type { LookAround } from '../shared-log/member-options.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { RoleWatch } from './role-watch.ts';

const shop = databaseIdentity(7n);
const bert: Lead = {
  ...{ host: hostId(2n), boot: bootId(22n), name: 'bert', address: 'bert:3001', format: 1 },
  history: 'postgres:1:1',
};
const fine: LookAround & { readonly hasLeft: boolean } = {
  ...{ isEngineReached: true, beatAgeMillis: 100, isGone: false, rank: 0, skewMillis: 0 },
  ...{ isCandidate: true, hasLeft: false },
};
const end = { position: 0, chain: 0n, offset: 3 };

function following(term: number, leader = bert): FollowerRole {
  return {
    ...{ kind: 'follower', term, leader, isLedElsewhere: true, isAtEnd: true, seq: 9, end },
    ...{ settledOffset: 3, isWarm: true },
  };
}

describe('the roles of a host', () => {
  let now: number;
  let lines: string[];
  let watch: RoleWatch;

  beforeEach(() => {
    now = 1_000;
    lines = [];
    const report = ({ level, message }: { level: string; message: string }) =>
      void lines.push(`${level}: ${message}`);
    watch = new RoleWatch({ now: () => now, leaseMillis: 2_000, report, me: hostId(1n) });
    watch.changed(shop, following(4));
  });

  it('[replication 9.2] knows how a broken copy followed last, until it leads', () => {
    watch.changed(shop, { kind: 'broken', reason: 'the disk failed' });
    expect(watch.followedOf(shop)).toEqual(following(4));
    watch.changed(shop, { kind: 'leader', term: 5 });
    watch.changed(shop, { kind: 'broken', reason: 'the disk failed' });
    expect(watch.followedOf(shop)).toBeUndefined();
  });

  it.each([
    ['silent', { ...fine, beatAgeMillis: 2_100 }, 'it is silent, 2100 ms after its beat'],
    ['ended', { ...fine, isGone: true }, 'its process has ended, 100 ms after its beat'],
    [
      'goodbye',
      { ...fine, isGone: true, hasLeft: true, beatAgeMillis: undefined },
      'it said goodbye',
    ],
  ] as const)('[replication 15.2] a lost leader, %s, is logged once', (cause, look, why) => {
    watch.looked(shop, bert, fine);
    watch.looked(shop, bert, look);
    now += 150;
    watch.looked(shop, bert, look);
    watch.changed(shop, following(4));
    now += 50;
    watch.changed(shop, { kind: 'leader', term: 5 });
    expect(lines).toEqual([
      `info: a database is led here in term 5, taken over from bert (${why}): ` +
        '200 ms until it serves',
    ]);
    const { takeovers, takeoverTimes } = watch.figures;
    expect(takeovers).toEqual({ goodbye: 0, ended: 0, silent: 0, 'handed-over': 0, [cause]: 1 });
    expect(spanCount(takeoverTimes)).toBe(1);
  });

  it('[replication 15.2] a leader that was only late is not counted as lost', () => {
    watch.looked(shop, bert, { ...fine, beatAgeMillis: 2_100 });
    watch.looked(shop, bert, fine);
    watch.changed(shop, { kind: 'leader', term: 5 });
    expect(lines).toEqual(['info: a database is led here in term 5, handed over by bert']);
    expect(watch.figures.takeovers).toMatchObject({ silent: 0, 'handed-over': 1 });
  });

  it('[replication 15.2] who is given a database reads that before it leads', () => {
    watch.changed(shop, { ...following(5), isLedElsewhere: false });
    watch.changed(shop, { kind: 'leader', term: 5 });
    expect(lines).toEqual(['info: a database is led here in term 5, handed over by bert']);
    watch.changed(shop, { kind: 'opening' });
    watch.changed(shop, { kind: 'leader', term: 6 });
    expect(lines.at(-1)).toBe('info: a database is led here in term 6');
  });

  it('[replication 15.2] a term that was given away is no term that was lost', async () => {
    watch.changed(shop, { kind: 'leader', term: 5 });
    await watch.givesAway(shop, bert, async () => watch.changed(shop, following(6)));
    watch.changed(shop, following(6));
    watch.changed(shop, { kind: 'leader', term: 7 });
    watch.changed(shop, following(8));
    expect(lines.slice(1)).toEqual([
      'info: a database is handed over to bert; this host led it in term 5',
      'info: a database is led here in term 7, handed over by bert',
      'warn: a database was led here in term 7, until bert took it over: what was not ' +
        'acknowledged has failed as database.lost',
    ]);
    expect(watch.figures).toMatchObject({ handedOver: 1, deposed: 1 });
  });

  it('[replication 15.2] who leads again after a restart has taken over from nobody', () => {
    const before = { ...bert, host: hostId(1n), boot: bootId(10n) };
    watch.changed(shop, following(4, before));
    watch.looked(shop, before, { ...fine, isGone: true });
    now += 40;
    watch.changed(shop, { kind: 'leader', term: 5 });
    expect(lines).toEqual([
      'info: a database is led here in term 5, as before this host was started again: 40 ms ' +
        'until it serves',
    ]);
    expect(watch.figures.takeovers).toMatchObject({ ended: 0, 'handed-over': 0 });
  });

  it('[replication 15.2] an actor that is replaced within a term says nothing', () => {
    watch.changed(shop, { kind: 'leader', term: 5 });
    watch.changed(shop, { kind: 'opening' });
    watch.changed(shop, { ...following(5), leader: undefined as never, isLedElsewhere: false });
    watch.changed(shop, { kind: 'leader', term: 5 });
    expect(lines).toHaveLength(1);
    watch.changed(shop, { kind: 'broken', reason: 'log.diverged' });
    expect(lines.at(-1)).toBe('error: a database is not served here: log.diverged');
    expect(watch.figures.deposed).toBe(0);
  });

  it('[replication 6.6, 6.12, 15] counts what copies have set aside, over their actors', () => {
    const aside = (commits: number, refetchedBytes: number) => ({ commits, refetchedBytes });
    watch.changed(shop, { ...following(4), aside: aside(2, 0) });
    watch.changed(shop, { ...following(4), aside: aside(3, 4_096) });
    watch.changed(shop, { kind: 'opening' });
    watch.changed(shop, { ...following(5), aside: aside(1, 0) });
    expect(watch.figures).toMatchObject({ deposedCommits: 4, refetchedBytes: 4_096 });
  });

  it('[replication 15.1] the age of a copy is since it had all', () => {
    now += 300;
    expect(watch.ageMillisOf(shop)).toBe(300);
    watch.changed(shop, { ...following(4), isAtEnd: false });
    expect(watch.ageMillisOf(shop)).toBe(300);
    watch.changed(shop, following(4));
    expect(watch.ageMillisOf(shop)).toBe(0);
    expect(watch.ageMillisOf(databaseIdentity(8n))).toBeUndefined();
  });

  it('[replication 15.1] a host that has just led has all, until it hears of more', () => {
    watch.changed(shop, { kind: 'leader', term: 5 });
    now += 5_000;
    watch.changed(shop, { ...following(6), isAtEnd: false });
    expect(watch.ageMillisOf(shop)).toBe(0);
    now += 20;
    watch.changed(shop, { ...following(6), isAtEnd: false });
    expect(watch.ageMillisOf(shop)).toBe(20);
  });
});
