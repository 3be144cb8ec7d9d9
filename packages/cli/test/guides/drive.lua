-- Drives the plugin of docs/neovim.md without a window: asks, answers its questions, and prints its buffer.
vim.opt.runtimepath:prepend(vim.env.GUIDE)
local agent = require("agent")
agent.url, agent.config = vim.env.AGENT_URL, vim.env.GUIDE .. "/agent.curl"
local asked = {}
vim.ui.select = function(_, options, choose)
  table.insert(asked, options.prompt)
  choose(vim.env.CHOICE)
end
local function shown()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n")
end
for _, prompt in ipairs(vim.fn.json_decode(vim.fn.readfile(vim.env.PROMPTS))) do
  agent.ask(prompt)
  vim.wait(20000, function()
    if vim.env.STOP_AT and shown():find(vim.env.STOP_AT, 1, true) then
      agent.stop()
    end
    return not agent.is_busy()
  end, 5)
end
io.write(vim.fn.json_encode({ text = shown(), asked = asked }))
vim.cmd("qa!")
