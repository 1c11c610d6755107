-- POSTs the bodies of a file (one a line, in $BODIES) in turn, and prints what came of it as one JSON line.
local bodies, place = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local headers = { ["content-type"] = "application/json" }

request = function()
  place = place % #bodies + 1
  return wrk.format("POST", nil, headers, bodies[place])
end

done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "p50_ms": %.3f, "p99_ms": %.3f, "not_2xx": %d, "broken": %d}\n',
    summary.requests, summary.duration, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
