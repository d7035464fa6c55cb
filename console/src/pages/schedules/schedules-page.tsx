import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SearchField } from '../../parts/field.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Facts, PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, Notice, WhenLoaded } from '../../parts/state.tsx';
import { Due, Time } from '../../parts/time.tsx';
import { complain, say } from '../../parts/toast.tsx';
import { useLoad } from '../../service/load.ts';
import {
  orderSchedule,
  readSchedules,
  type Schedule,
  type ScheduleOrder,
} from '../../service/schedules.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress, useParam } from '../../shell/router.tsx';
import styles from './schedules.module.css';

const everyMillis = 1_000;

/** What the service will do by itself, and what it did. */
export function Page({ database }: { readonly database: string }) {
  const { whyNot } = useDatabase();
  const [search, setSearch] = useParam('find');
  const [busy, setBusy] = useState('');
  const loaded = useLoad(database, (signal) => readSchedules(database, signal), { everyMillis });
  const order: Order = (what, of) => {
    setBusy(keyOf(what, of));
    orderSchedule(database, what, of)
      .then(() => {
        say(`${doneWords[what]} ${of === null ? 'all schedules' : of.name}`);
        loaded.reload();
      })
      .catch((error: unknown) => complain('The schedule stays as it is', error))
      .finally(() => setBusy(''));
  };
  const isPaused = loaded.value?.isPaused === true;
  /** What is paused can be resumed, also where nothing is left to run. */
  const hasSome = isPaused || loaded.value?.schedules.length !== 0;
  const allOrder = isPaused ? 'resume' : 'pause';
  return (
    <PageFrame
      title="Schedules"
      about="What the service runs by itself, when it is due."
      actions={
        hasSome && (
          <Button
            icon={isPaused ? 'play' : 'pause'}
            off={whyNot('control_schedules')}
            isBusy={busy === keyOf(allOrder, null)}
            onClick={() => order(allOrder, null)}
          >
            {isPaused ? 'Resume all' : 'Pause all'}
          </Button>
        )
      }
    >
      <WhenLoaded of={loaded}>
        {({ schedules }) => {
          if (schedules.length === 0) return <Nothing />;
          const wanted = search.trim().toLowerCase();
          const found = schedules.filter((each) => {
            return `${each.name} ${each.function}`.toLowerCase().includes(wanted);
          });
          return (
            <>
              {isPaused && (
                <Notice kind="warn">
                  All schedules are paused: nothing runs until they are resumed.
                </Notice>
              )}
              {(schedules.length > 4 || search !== '') && (
                <div className={styles.search}>
                  <SearchField label="Find a schedule" value={search} onChange={setSearch} />
                </div>
              )}
              {found.length === 0 && <Empty icon="search" title="No schedule has such a name" />}
              {found.map((each) => (
                <SchedulePanel
                  key={`${each.name} ${each.row ?? ''}`}
                  of={each}
                  busy={busy}
                  onOrder={order}
                />
              ))}
            </>
          );
        }}
      </WhenLoaded>
    </PageFrame>
  );
}

type Order = (what: ScheduleOrder, of: Schedule | null) => void;

const doneWords: Readonly<Record<ScheduleOrder, string>> = {
  run: 'Ran',
  skip: 'Skipped the next run of',
  pause: 'Paused',
  resume: 'Resumed',
};

function keyOf(what: ScheduleOrder, of: Schedule | null): string {
  return `${what} ${of?.name ?? ''} ${of?.row ?? ''}`;
}

function Nothing() {
  return (
    <Panel>
      <Empty icon="clock" title="This module has no schedules">
        A table with <code>{'{ scheduled: … }'}</code> runs a reducer for each of its rows when it
        is due; <code>db.cron(…)</code> runs one by the calendar.
      </Empty>
    </Panel>
  );
}

interface SchedulePanelProps {
  readonly of: Schedule;
  readonly busy: string;
  readonly onOrder: Order;
}

function SchedulePanel({ of, busy, onOrder }: SchedulePanelProps) {
  const { database, whyNot } = useDatabase();
  const off = whyNot('control_schedules');
  const idle = of.armedRows === 0 && of.kind === 'table' && 'No row of it is armed.';
  const isPaused = of.state === 'paused';
  const stopped = isPaused && 'It is paused.';
  const button = (what: ScheduleOrder, icon: 'play' | 'right' | 'pause', label: string) => (
    <Button
      key={what}
      size="small"
      icon={icon}
      off={off || ((what === 'run' || what === 'skip') && (stopped || idle))}
      isBusy={busy === keyOf(what, of)}
      onClick={() => onOrder(what, of)}
    >
      {label}
    </Button>
  );
  return (
    <Panel
      title={of.row === null ? of.name : `${of.name}, row ${of.row}`}
      actions={
        <>
          <StateBadge of={of} />
          {button('run', 'play', 'Run now')}
          {button('skip', 'right', 'Skip')}
          {of.row === null &&
            (isPaused ? button('resume', 'play', 'Resume') : button('pause', 'pause', 'Pause'))}
        </>
      }
    >
      <div className={styles.facts}>
        <Facts
          of={[
            ['Runs', <FunctionLink key="runs" name={of.function} />],
            ['When', whenOf(of)],
            ['Next due', momentOf(of.nextDue, '–')],
            ['Missed runs', missedText[of.catchUp] ?? of.catchUp],
          ]}
        />
        <Facts
          of={[
            ['Last run', momentOf(of.lastRun, 'never')],
            ['Outcome', outcomeOf(of)],
            ['Runs so far', `${countText(of.runs)}, ${countText(of.failures)} failed`],
            ['Lateness', latenessOf(of)],
          ]}
        />
      </div>
      {of.lastError !== null && (
        <div className={styles.error}>
          <Notice kind="danger">
            <p>{of.lastError}</p>
            <Link to={pageAddress(database, 'logs', { f: of.function, level: 'error' })}>
              Its errors in the log
            </Link>
          </Notice>
        </div>
      )}
    </Panel>
  );
}

const missedText: Readonly<Record<string, string>> = {
  skip: 'are left out',
  once: 'run once',
  all: 'all run',
};

function whenOf({ kind, expression, timeZone, armedRows }: Schedule) {
  if (kind === 'table') return `${countText(armedRows)} ${armedRows === 1 ? 'row' : 'rows'} armed`;
  return (
    <>
      <code>{expression}</code> {timeZone}
    </>
  );
}

function latenessOf({ lateness: { p50, p99 } }: Schedule): string {
  if (p50 === null || p99 === null) return '–';
  return `${microsText(p50)} usual, ${microsText(p99)} p99`;
}

function FunctionLink({ name }: { readonly name: string }) {
  const { database } = useDatabase();
  return <Link to={pageAddress(database, 'functions', { f: name })}>{name}</Link>;
}

function momentOf(time: number | null, otherwise: string) {
  if (time === null) return otherwise;
  return (
    <>
      <Due time={time} /> <span className={styles.quiet}>(</span>
      <Time time={time} />
      <span className={styles.quiet}>)</span>
    </>
  );
}

function outcomeOf({ lastOutcome: outcome }: Schedule) {
  if (outcome === null) return '–';
  return <Badge kind={outcome === 'committed' ? 'good' : 'danger'}>{outcome}</Badge>;
}

function StateBadge({ of }: { readonly of: Schedule }) {
  const kinds = { armed: 'good', running: 'accent', paused: 'warn' } as const;
  const kind = of.state in kinds ? kinds[of.state as keyof typeof kinds] : 'danger';
  return (
    <Badge kind={kind} hasDot>
      {of.state}
    </Badge>
  );
}
