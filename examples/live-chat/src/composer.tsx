import { type KeyboardEvent, useState } from 'react';
import { type Identity, Timestamp } from 'reducerdb/client';
import { useReducer } from './database.ts';
import { useAttempt } from './notices.tsx';

interface Props {
  readonly room: string;
  readonly me: Identity | undefined;
}

/** Where one writes. A line is shown at once, and taken back if the database refuses it. */
export function Composer({ room, me }: Props) {
  const [text, setText] = useState('');
  const sendMessage = useReducer((reducers) => reducers.sendMessage);
  const attempt = useAttempt();

  const send = async () => {
    if (me === undefined) return;
    const sent = Timestamp.now();
    const call = sendMessage(
      { text },
      {
        optimistic: (draft, args) => {
          if (args.text.trim() === '') return;
          draft.message.insert({
            id: draft.tempId(),
            room,
            sender: me,
            text: args.text.trim(),
            sent,
          });
        },
      },
    );
    setText('');
    // What was refused is there to be written better.
    if (!(await attempt(call))) setText((now) => (now === '' ? text : now));
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        rows={1}
        aria-label="Message"
        placeholder={`Say something in # ${room}`}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={sendOnEnter}
      />
      <button type="submit" disabled={me === undefined} aria-label="Send">
        ➤
      </button>
    </form>
  );
}
