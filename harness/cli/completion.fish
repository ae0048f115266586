# for ~/.config/fish/config.fish:  harness completion fish | source
function __harness_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -a words (commandline --current-token --cut-at-cursor)
    $words[1] completion fish --query $words[2..] 2>/dev/null
end
complete --command harness --no-files --arguments '(__harness_complete)'
