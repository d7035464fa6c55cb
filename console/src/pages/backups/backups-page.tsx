import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Switch } from '../../parts/field.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { Facts, PageFrame, Panel } from '../../parts/page.tsx';
import { Notice, WhenLoaded } from '../../parts/state.tsx';
import { Ago } from '../../parts/time.tsx';
import { complain } from '../../parts/toast.tsx';
import {
  type HistoryStatus,
  readHistoryStatus,
  takeSnapshot,
  verifyFiles,
} from '../../service/backups.ts';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf, useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import styles from './backups.module.css';
import { JobPanel } from './job-panel.tsx';
import { Repository } from './repository.tsx';
import { Restoring } from './restoring.tsx';

const everyMillis = 2_000;

/** What there is of a database beside what serves: history, snapshots, backups. */
export function Page({ database }: { readonly database: string }) {
  const [job, setJob] = useParam('job', '', 'step');
  const status = useLoad(database, (signal) => readHistoryStatus(database, signal), {
    everyMillis,
  });
  /** Starts a job, and shows it. */
  const start: Start = async (work) => {
    try {
      setJob(await work());
      return null;
    } catch (error) {
      return serviceErrorOf(error);
    }
  };
  return (
    <PageFrame
      title="Backups"
      about="The history of this database, its snapshots, and copies of it elsewhere."
    >
      {job !== '' && <JobPanel key={job} id={job} onClose={() => setJob('')} />}
      <Panel title="History on this service" actions={<HistoryActions start={start} />}>
        <WhenLoaded of={status}>{(value) => <History of={value} />}</WhenLoaded>
      </Panel>
      <Repository start={start} />
      <Restoring />
    </PageFrame>
  );
}

/** Gives why the job did not begin, if it did not. */
export type Start = (work: () => Promise<string>) => Promise<ServiceError | null>;

function HistoryActions({ start }: { readonly start: Start }) {
  const { database, whyNot } = useDatabase();
  const [isDeep, setDeep] = useState(false);
  const [busy, setBusy] = useState('');
  const off = whyNot('maintain');
  const begin = async (what: string, work: () => Promise<string>) => {
    setBusy(what);
    const error = await start(work);
    if (error !== null) complain(`${what} did not begin`, error);
    setBusy('');
  };
  return (
    <>
      <Switch label="also replay the log (slower)" isOn={isDeep} onChange={setDeep} />
      <Button
        size="small"
        icon="check"
        off={off}
        isBusy={busy === 'The check'}
        onClick={() => void begin('The check', () => verifyFiles(database, isDeep))}
      >
        Check all files
      </Button>
      <Button
        size="small"
        icon="archive"
        off={off}
        isBusy={busy === 'The snapshot'}
        onClick={() => void begin('The snapshot', () => takeSnapshot(database))}
      >
        Take a snapshot
      </Button>
    </>
  );
}

const settingNames: Readonly<Record<string, string>> = {
  keep: 'Kept for',
  'keep-bytes': 'Kept up to',
  'keep-commits': 'Kept commits',
  'on-low-disk': 'When the disk fills up',
};

const bytesNames: Readonly<Record<string, string>> = {
  active: 'log being written',
  hot: 'older log',
  cold: 'packed log',
  snapshots: 'snapshots',
  indexes: 'indexes',
  replaced: 'replaced logs',
  other: 'other',
};

function History({ of }: { readonly of: HistoryStatus }) {
  const { newestSnapshot: newest, floor } = of;
  const total = of.bytes.reduce((sum, [, bytes]) => sum + bytes, 0);
  const parts = of.bytes.filter(([, bytes]) => bytes > 0);
  return (
    <>
      <div className={styles.columns}>
        <Facts
          of={[
            ['Newest commit', `${countText(of.offset)} (on disk: ${countText(of.durableOffset)})`],
            ['Oldest kept', oldestOf(floor)],
            ['Segments', countText(of.segments)],
            ['On disk', bytesText(total)],
            ...parts.map(([kind, bytes]) => {
              return [`– ${bytesNames[kind] ?? kind}`, bytesText(bytes)] as const;
            }),
          ]}
        />
        <Facts
          of={[
            ['Snapshots', countText(of.snapshots)],
            ['Newest snapshot', newest === null ? 'none' : `of commit ${countText(newest.offset)}`],
            ...(newest === null ? [] : [['Taken', agoOf(newest.millis)] as const]),
            ['Log since that snapshot', bytesText(of.logBytesSince)],
            ...of.settings.map(([name, value]) => {
              return [settingNames[name] ?? name, settingText(name, value)] as const;
            }),
          ]}
        />
      </div>
      {of.failures > 0 && (
        <Notice kind="danger">
          {countText(of.failures)} snapshots failed. The log of the service says why.
        </Notice>
      )}
      {of.holds.length > 0 && (
        <Notice>
          History is held from going by{' '}
          {of.holds
            .map(({ by, from, bytes }) => `${by} (from commit ${from}, ${bytesText(bytes)})`)
            .join(', ')}
          .
        </Notice>
      )}
    </>
  );
}

function oldestOf({ offset, millis }: HistoryStatus['floor']) {
  if (millis === null) return `commit ${countText(offset)}`;
  return (
    <>
      commit {countText(offset)}, <Ago time={millis} />
    </>
  );
}

function agoOf(millis: number) {
  return <Ago time={millis} />;
}

function settingText(name: string, value: string | number | null): string {
  if (value === null) return 'any number';
  if (value === 'shrink') return 'old history is removed early';
  if (typeof value === 'number')
    return name.endsWith('bytes') ? bytesText(value) : countText(value);
  return value;
}
