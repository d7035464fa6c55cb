import { Fragment, useLayoutEffect, useRef } from 'react';
import type { Identity } from 'reducerdb/client';
import { Avatar, nameOf } from './avatar.tsx';
import { type Message, type User, useQuery, useReducer } from './database.ts';
import { useAttempt } from './notices.tsx';

interface Props {
  readonly room: string;
  readonly users: readonly User[];
  readonly me: Identity | undefined;
}

const shownMax = 50;

/** What was said in a room, the latest at the bottom. */
export function Messages({ room, users, me }: Props) {
  const { rows, isReady, isStale } = useQuery((q) => q.message.where((m) => m.room.eq(room)), {
    sort: newestFirst,
    limit: shownMax,
  });
  const lines = rows.toReversed();
  const last = lines.at(-1)?.id;
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = list.current;
    // Whoever has scrolled up reads, and stays where they are.
    if (element !== null && last !== undefined && isAtEnd.current) {
      element.scrollTop = element.scrollHeight;
    }
  }, [last]);
  const byIdentity = new Map(users.map((user) => [user.identity.toHexString(), user]));

  if (isReady && lines.length === 0 && !isStale) {
    return <p className="empty">Nothing has been said in # {room} yet.</p>;
  }
  return (
    <ol
      ref={list}
      className={isStale ? 'messages stale' : 'messages'}
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {lines.map((message, at) => (
        <Fragment key={String(message.id)}>
          <Line
            message={message}
            sender={byIdentity.get(message.sender.toHexString())}
            isMine={me !== undefined && message.sender.equals(me)}
            isFirst={!follows(message, lines[at - 1])}
          />
        </Fragment>
      ))}
    </ol>
  );
}

interface LineProps {
  readonly message: Message;
  readonly sender: User | undefined;
  readonly isMine: boolean;
  /** The name stands above the first of several lines of one person. */
  readonly isFirst: boolean;
}

function Line({ message, sender, isMine, isFirst }: LineProps) {
  const deleteMessage = useReducer((reducers) => reducers.deleteMessage);
  const attempt = useAttempt();
  const sent = message.sent.toDate();
  const classes = ['line', isMine && 'mine', isFirst && 'first', isPending(message) && 'pending'];
  return (
    <li className={classes.filter(Boolean).join(' ')}>
      {isFirst && sender !== undefined && <Avatar user={sender} />}
      {isFirst && (
        <p className="from">
          <b>{sender === undefined ? 'somebody' : nameOf(sender)}</b>{' '}
          <time dateTime={sent.toISOString()} title={sent.toLocaleString()}>
            {sent.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
          </time>
        </p>
      )}
      <p className="text">{message.text}</p>
      {isMine && !isPending(message) && (
        <button
          type="button"
          className="delete"
          aria-label="Delete"
          onClick={() => attempt(deleteMessage({ id: message.id }))}
        >
          ×
        </button>
      )}
    </li>
  );
}

/** Rows that the client expects have numbers of their own, beyond all that the database gives. */
function isPending({ id }: Message): boolean {
  return id >= 1n << 63n;
}

const togetherMicros = 300_000_000n;

function follows(message: Message, before: Message | undefined): boolean {
  if (before === undefined || !before.sender.equals(message.sender)) return false;
  const { microsSinceUnixEpoch: earlier } = before.sent;
  return message.sent.microsSinceUnixEpoch - earlier < togetherMicros;
}

function newestFirst(a: Message, b: Message): number {
  return a.id < b.id ? 1 : -1;
}
