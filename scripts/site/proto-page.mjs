// A Protobuf file as a Markdown page: a heading for each service, RPC, message and enum, with what its comment says, and the
// fields as they are written.

/** @param title heading of the page; @param source text of the file; @param path where it is, for the reader */
export function protoPage(title, source, path) {
  const parts = [`# ${title}`, `From \`${path}\`.`];
  const lines = source.split('\n');
  let comment = [];
  let service;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    const said = /^\s*\/\/ ?(.*)$/.exec(line);
    if (said) {
      comment.push(said[1]);
      continue;
    }
    const rpc = service && /^\s*rpc (\w+)/.exec(line);
    const top = /^(service|message|enum) (\w+)/.exec(line);
    if (rpc) parts.push(`### ${service}/${rpc[1]}`, proto([line]), comment.join('\n'));
    else if (top?.[1] === 'service') {
      service = top[2];
      parts.push(`## Service ${service}`, comment.join('\n'));
    } else if (top) {
      service = undefined;
      const end = line.trimEnd().endsWith('}') ? at : lines.indexOf('}', at);
      parts.push(`### ${top[1]} ${top[2]}`, comment.join('\n'), proto(lines.slice(at, end + 1)));
      at = end;
    } else if (line.startsWith('package ')) parts.push(comment.join('\n'));
    else if (line === '}') service = undefined;
    else if (line.trim() === '' && parts.length === 2) {
      parts.push(comment.join('\n'));
    }
    comment = [];
  }
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function proto(lines) {
  const indent = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return `\`\`\`proto\n${lines.map((line) => line.slice(indent)).join('\n')}\n\`\`\``;
}
