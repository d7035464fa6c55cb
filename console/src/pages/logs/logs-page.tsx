import { useMemo, useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { copyText } from '../../parts/copy.tsx';
import { download } from '../../parts/download.ts';
import { SearchField, Select } from '../../parts/field.tsx';
import { Menu } from '../../parts/menu.tsx';
import { countText } from '../../parts/numbers.ts';
import { Bar, FullPage, Space } from '../../parts/page.tsx';
import { Empty, Failure, Loading } from '../../parts/state.tsx';
import { say } from '../../parts/toast.tsx';
import type { LogLevel, LogLine } from '../../service/logs.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { setParams, useParam } from '../../shell/router.tsx';
import { SourceDialog, useOpenSource } from '../../shell/source-dialog.tsx';
import { LogLines } from './log-lines.tsx';
import styles from './logs.module.css';
import { type FollowedLog, useLog } from './use-log.ts';

/** From the most urgent to the least. */
const levels: readonly LogLevel[] = ['panic', 'error', 'warn', 'info', 'debug', 'trace'];
const levelNames: Readonly<Record<string, string>> = {
  '': 'All levels',
  panic: 'Crashes only',
  error: 'Errors and above',
  warn: 'Warnings and above',
  info: 'Info and above',
  debug: 'Debug and above',
};

/** The log of a module, as it is written. */
export function Page({ database }: { readonly database: string }) {
  const log = useLog(database);
  const [level] = useParam('level');
  const [name] = useParam('f');
  const [search] = useParam('find');
  const shown = useMemo(() => {
    const rank = level === '' ? levels.length : levels.indexOf(level as LogLevel);
    const wanted = search.trim().toLowerCase();
    return log.lines.filter((line) => {
      if (levels.indexOf(line.level) > rank) return false;
      if (name !== '' && line.function !== name) return false;
      return wanted === '' || line.text.toLowerCase().includes(wanted);
    });
  }, [log.lines, level, name, search]);
  return (
    <FullPage title="Logs">
      <Controls log={log} shown={shown} />
      <Body log={log} shown={shown} />
      <SourceDialog />
    </FullPage>
  );
}

interface LogProps {
  readonly log: FollowedLog;
  readonly shown: readonly LogLine[];
}

function Controls({ log, shown }: LogProps) {
  const { database, schema } = useDatabase();
  const [level, setLevel] = useParam('level');
  const [name, setName] = useParam('f');
  const [search, setSearch] = useParam('find');
  const names = useMemo(() => {
    const known = schema.value?.functions.map((each) => each.name) ?? [];
    const seen = log.lines.map((line) => line.function);
    return [...new Set([...known, ...seen, name])].filter((each) => each !== '').sort();
  }, [schema.value, log.lines, name]);
  const text = () => shown.map((line) => `${line.text}\n`).join('');
  const copy = async () => {
    if (await copyText(text())) say(`Copied ${countText(shown.length)} lines as NDJSON`);
  };
  return (
    <Bar label="What is shown of the log">
      <Select
        className={styles.choice}
        aria-label="Level"
        value={level}
        onChange={(event) => setLevel(event.target.value)}
      >
        {Object.entries(levelNames).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </Select>
      <Select
        className={styles.choice}
        aria-label="Function"
        value={name}
        onChange={(event) => setName(event.target.value)}
      >
        <option value="">All functions</option>
        {names.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </Select>
      <SearchField label="Find in the log" value={search} onChange={setSearch} />
      <Space />
      <Following log={log} />
      <Button
        icon={log.isPaused ? 'play' : 'pause'}
        aria-pressed={log.isPaused}
        onClick={() => log.setPaused(!log.isPaused)}
      >
        {log.isPaused ? 'Go on' : 'Pause'}
      </Button>
      <Menu
        icon="more"
        aria-label="More about the log"
        items={[
          { label: 'Copy as NDJSON', icon: 'copy', run: () => void copy() },
          {
            label: 'Download as NDJSON',
            icon: 'download',
            run: () => download(`${database}.ndjson`, 'application/x-ndjson', text()),
          },
          { label: 'Clear what is shown', icon: 'close', begins: true, run: log.clear },
        ]}
      />
    </Bar>
  );
}

function Following({ log }: { readonly log: FollowedLog }) {
  if (log.isPaused) {
    const title = 'Lines that came since it was paused';
    return (
      <Badge kind="warn" title={title}>
        {log.waiting === 0 ? 'paused' : `${countText(log.waiting)} more`}
      </Badge>
    );
  }
  if (log.state === 'following') {
    return (
      <Badge kind="good" hasDot>
        following
      </Badge>
    );
  }
  if (log.state === 'lost') return <Badge kind="warn">connecting again</Badge>;
  return null;
}

function Body({ log, shown }: LogProps) {
  const open = useOpenSource();
  const { lines } = log;
  if (log.error !== undefined) return <Failure error={log.error} onRetry={log.retry} />;
  if (log.state === 'opening') return <Loading label="Loading the log" lines={12} />;
  if (lines.length === 0) {
    return (
      <Empty icon="logs" title="Nothing was logged yet">
        What functions write with <code>console.log</code> appears here at once, and why they
        crashed.
      </Empty>
    );
  }
  if (shown.length === 0) {
    const clear = () => setParams({ level: null, f: null, find: null });
    return (
      <Empty
        icon="filter"
        title="No line is like this"
        actions={<Button onClick={clear}>Show all lines</Button>}
      >
        None of the {countText(lines.length)} lines fits what is chosen above.
      </Empty>
    );
  }
  return <Scrolled lines={shown} onOpen={open} />;
}

/** Stays at the end while new lines come, unless one has scrolled away from it. */
function Scrolled(props: {
  lines: readonly LogLine[];
  onOpen: ((place: string) => void) | undefined;
}) {
  const { lines, onOpen } = props;
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  return (
    <div className={styles.frame}>
      <section
        ref={setScroller}
        className={styles.scroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
        tabIndex={0}
        aria-label="Log"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          setAtEnd(scrollHeight - scrollTop - clientHeight < 40);
        }}
      >
        <LogLines lines={lines} scroller={scroller} isAtEnd={isAtEnd} onOpen={onOpen} />
      </section>
      {!isAtEnd && (
        <div className={styles.end}>
          <Button icon="down" onClick={() => setAtEnd(true)}>
            To the newest
          </Button>
        </div>
      )}
    </div>
  );
}
