import type { ComponentChildren } from 'preact';
import type { Polled } from '../connection/use-poll.js';
import { Failure, Loading } from './notice.js';

/** Shows a value once it is known; before, that it is about to be. Above it, the reason why the last look failed, if it did. */
export function Known<Value>(props: {
  polled: Pick<Polled<Value>, 'value' | 'error'>;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error } = props.polled;
  return (
    <>
      <Failure error={error} />
      {value !== undefined ? props.children(value) : error === undefined && <Loading />}
    </>
  );
}
